"""What a call lets each query read, and what it adds to the scores, as dense tensors.

They hold as many elements as they have queries times keys, so a kernel that asks for all at once
says so in its caveats.
"""

import math
from functools import lru_cache
from typing import Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from attncost.core.options import Options
from attncost.core.unseen import is_taken_for_finite
from attncost.patterns.interface import Pattern

_MOST_KEPT: Final = 16
_SMALL: Final = 1 << 20  # elements, so that at most 64 MiB are kept in float32
_PLAIN: Final = (Tensor, torch.nn.Parameter)


def positions(
    n: int, m: int, device: torch.device
) -> tuple[Int[Tensor, "{n} 1"], Int[Tensor, "{m}"]]:
    """Return where queries and keys stand; the last query stands at the last key."""
    query = torch.arange(m - n, m, device=device)[:, None]
    return query, torch.arange(m, device=device)


def readable(
    pattern: Pattern,
    options: Options,
    query: Int[Tensor, "r 1"],
    key: Int[Tensor, "s"],
    *,
    n: int,
    m: int,
) -> Bool[Tensor, "_ 1 r s"]:
    """Return what is read in every sequence, or the same for all; positions as in `allowed`."""
    mask = pattern.allowed(query, key).expand(len(query), len(key))[None]
    if options.key_mask is not None:
        mask = mask & options.key_mask[:, None, key]
    if options.segments is not None:
        # Both sides end with the last token.
        earlier = max(n, m) - m
        segments = options.segments
        mask = mask & (segments[:, query + earlier] == segments[:, None, key + earlier])
    return mask[:, None]


def kept_mask(
    q: Float[Tensor, "b h n d"], k: Float[Tensor, "b g m d"], pattern: Pattern, options: Options
) -> Float[Tensor, "1 1 n m"] | None:
    """Return 0 where a query reads and -inf elsewhere, kept for the next call of these sizes.

    None unless the pattern alone decides, the mask is small and the call is an ordinary one on a
    CPU: elsewhere `readable` says what is read.
    """
    n, m = q.shape[2], k.shape[2]
    if options.tensors() or n * m > _SMALL or torch.compiler.is_compiling() or not is_plain(q):
        return None
    return _kept(pattern, n, m, q.dtype)


@lru_cache(maxsize=_MOST_KEPT)
def _kept(pattern: Pattern, n: int, m: int, dtype: torch.dtype) -> Float[Tensor, "1 1 {n} {m}"]:
    # A tensor of inference mode could not take part in a gradient later, nor a fake one be of use.
    with torch.inference_mode(False), _disable_current_modes():
        mask = pattern.mask(n, m, torch.device("cpu"))
        return torch.where(mask, torch.zeros((), dtype=dtype, device="cpu"), -math.inf)[None, None]


def is_plain(x: Tensor) -> bool:
    """Say whether a tensor holds numbers on a CPU that one may look at: not fake, not batched.

    A fake one does if it is taken for a real one.
    """
    return (
        x.device.type == "cpu"
        and (type(x) in _PLAIN or is_taken_for_finite(x))
        and not torch._C._functorch.is_functorch_wrapped_tensor(x)
    )


def added(
    options: Options, query: Int[Tensor, "r 1"], key: Int[Tensor, "s"]
) -> Float[Tensor, "_ _ _ _"] | None:
    """Return what is added to all scores: bias and ALiBi."""
    if options.alibi is None:
        return options.bias
    wide = torch.promote_types(options.alibi.dtype, torch.float32)
    slopes = -options.alibi[:, None, None].to(wide) * (query - key).abs()
    return slopes[None] if options.bias is None else options.bias.to(wide) + slopes
