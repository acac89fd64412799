"""One sequence or one head of a call, and what its queries may read at all."""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from attncost.integrations.hf.together import together
from attncost.nn.ahead import reads_ahead
from attncost.patterns.interface import Pattern
from attncost.view.seen import Seen, wishes_of_heads


def one_sequence(seen: Seen, sequence: int) -> Seen:
    """Return the part of a call that is of one sequence."""
    rows = slice(sequence, sequence + 1)
    wishes = seen.wishes.copy()
    if (key_mask := wishes.get("key_mask")) is not None:
        wishes["key_mask"] = key_mask[rows]
    if (segments := wishes.get("segments")) is not None:
        wishes["segments"] = segments[rows]
    if (bias := wishes.get("bias")) is not None and len(bias) > 1:
        wishes["bias"] = bias[rows]
    v = None if seen.v is None else seen.v[rows]
    return replace(seen, q=seen.q[rows], k=seen.k[rows], v=v, wishes=wishes)


def one_head(seen: Seen, place: int) -> Seen:
    """Return the part of a call that is of one of its query heads."""
    group = place // (seen.q.shape[1] // seen.k.shape[1])
    own, theirs = slice(place, place + 1), slice(group, group + 1)
    return replace(
        seen,
        q=seen.q[:, own],
        k=seen.k[:, theirs],
        v=None if seen.v is None else seen.v[:, theirs],
        wishes=wishes_of_heads(seen.wishes, own),
        heads=seen.heads[own],
    )


def within(seen: Seen, pattern: Pattern) -> Pattern:
    """Return what a call reads if a pattern narrows its own, as a swap would have it."""
    return together(seen.pattern, pattern, max(seen.q.shape[2], seen.k.shape[2]))


def looks_ahead(seen: Seen) -> bool:
    """Say whether any query of a call may read a key after itself."""
    n, m = seen.q.shape[2], seen.k.shape[2]
    if n == 1 or not reads_ahead(seen.pattern, max(n, m)):
        return False
    bias = seen.wishes.get("bias")
    if bias is None or bias.shape[2] != n:
        return True
    # A complete mask is a bias of -inf, and may be the one that hides the future.
    return any(_open_ahead(one, m) for one in bias.flatten(0, 1))


def _open_ahead(bias: Float[Tensor, "n _"], m: int) -> bool:
    n = len(bias)
    ahead = torch.ones(n, m, dtype=torch.bool, device=bias.device).triu(m - n + 1)
    return bool((ahead & ~bias.isneginf()).any())


def from_the_start(seen: Seen) -> bool:
    """Say whether each sequence is one text that begins at its first slot."""
    segments, key_mask = seen.wishes.get("segments"), seen.wishes.get("key_mask")
    if segments is not None and bool((segments != segments[:, :1]).any()):
        return False
    return key_mask is None or bool(key_mask[:, 0].all())
