"""The weights of attention for some queries, exact, a few rows at a time.

    softmax(q k^T scale)      time  O(b h rows m d),  memory  O(b h rows keys)

Only what is asked for stays in memory, so one row of a long sequence costs one row; but all rows
with all keys are n x m weights, which no kernel here would write down. Under autograd the weights
to all keys are kept for every row.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attncost.core.errors import ShapeError
from attncost.core.options import Options
from attncost.kernels.calls import checked
from attncost.kernels.masks import added, readable
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern

_SCORES_AT_ONCE: Final = 1 << 20


def attention_weights(
    q: Float[Tensor, "b h n d"],
    k: Float[Tensor, "b g m d"],
    pattern: Pattern = Full(),
    *,
    rows: int | slice | range | Sequence[int] | Tensor | None = None,
    keys: slice | range | None = None,
    key_mask: Bool[Tensor, "b m"] | None = None,
    segments: Int[Tensor, "b t"] | None = None,
    bias: Float[Tensor, "#b #h #n #m"] | None = None,
    alibi: Float[Tensor, "h"] | None = None,
    softcap: float | None = None,
    sink: Float[Tensor, "h"] | None = None,
    scale: float | None = None,
) -> Float[Tensor, "b h r s"]:
    """Return how much some queries read of each key, as `attention` weighs the values.

    A row sums to 1, to less with a sink, and is 0 if it reads nothing. Options are those of
    `attention`.

    >>> import torch
    >>> import attncost as ac
    >>> q = k = torch.zeros(1, 1, 4, 8)
    >>> ac.attention_weights(q, k, ac.Causal(), rows=[1, -1]).tolist()
    [[[[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]]]

    Args:
        q: Queries.
        k: Keys.
        pattern: Which key each query reads; the last query stands at the last key.
        rows: Which queries, by number, from the end if negative; a single one keeps its axis. All
            of them if left out, which makes n x m weights.
        keys: Which keys to return; the others still take their share. All if left out.
        key_mask: True where a key may be read.
        segments: A number for each of the last `max(n, m)` tokens; tokens with different numbers
            never meet.
        bias: Added to the scores; may have a gradient.
        alibi: Slope for each head, which lowers a score for each token of distance.
        softcap: Bound of the absolute scores.
        sink: A score for each head that takes part in the softmax and has no value.
        scale: Factor of the scores; `head_dim ** -0.5` if left out.

    Raises:
        ShapeError: If the tensors do not belong together, or there are no such rows or keys.
    """
    options = Options(
        key_mask=key_mask,
        segments=segments,
        bias=bias,
        alibi=alibi,
        softcap=softcap,
        sink=sink,
        scale=scale,
    )
    checked(q, k, k, pattern, options)
    n, m = q.shape[2], k.shape[2]
    asked = _numbers("rows", slice(None) if rows is None else rows, n).to(q.device)
    shown = slice(None) if keys is None else _numbers("keys", keys, m).to(q.device)
    key = torch.arange(m, device=q.device)
    # A key that is not finite spoils the rows that read it, and no gradient of another one.
    bad = ~k.isfinite().all(-1, keepdim=True)
    wide = torch.promote_types(q.dtype, torch.float32)
    k, bad = k.masked_fill(bad, 0).to(wide), bad.mT.repeat_interleave(q.shape[1] // k.shape[1], 1)
    some = []
    for chunk in asked.split(max(1, _SCORES_AT_ONCE // max(1, q.shape[0] * q.shape[1] * m))):
        query, sliced = chunk[:, None] + (m - n), options
        if bias is not None and bias.shape[2] != 1:
            sliced = replace(options, bias=bias[:, :, chunk])
        scores = _scores(q[:, :, chunk].to(wide), k, sliced, query, key)
        reads = readable(pattern, options, query, key, n=n, m=m)
        weights = _softmax(scores.masked_fill(~reads, -math.inf), sink)[..., shown]
        spoilt = (reads & bad).any(-1, keepdim=True)
        some.append(weights.masked_fill(spoilt, math.nan).to(q.dtype))
    return torch.cat(some, 2)


def _scores(
    q: Float[Tensor, "b h r d"],
    k: Float[Tensor, "b g m d"],
    options: Options,
    query: Int[Tensor, "r 1"],
    key: Int[Tensor, "m"],
) -> Float[Tensor, "b h r m"]:
    """Return the scores before anything is hidden."""
    (b, h, r, d), (g, m) = q.shape, k.shape[1:3]
    # Heads that share keys are rows of one product.
    scores = (q.reshape(b, g, h // g * r, d) @ k.mT).view(b, h, r, m)
    scores = scores * (d**-0.5 if options.scale is None else options.scale)
    if options.softcap is not None:
        scores = options.softcap * torch.tanh(scores / options.softcap)
    bias = added(options, query, key)
    return scores if bias is None else scores + bias.to(scores.dtype)


def _softmax(
    scores: Float[Tensor, "b h r m"], sink: Float[Tensor, "h"] | None
) -> Float[Tensor, "b h r m"]:
    """Return weights that are 0, with gradient 0, in a row of nothing but negative infinity."""
    hidden = scores.isneginf()
    scores = scores.masked_fill(hidden.all(-1, keepdim=True), 0)
    if sink is not None:
        one = sink.to(scores.dtype)[:, None, None].expand(*scores.shape[:3], 1)
        scores = torch.cat([scores, one], -1)
    return scores.softmax(-1)[..., : hidden.shape[3]].masked_fill(hidden, 0)


def _numbers(
    name: str, asked: int | slice | range | Sequence[int] | Tensor, size: int
) -> Int[Tensor, "r"]:
    """Return the numbers that are asked for, none of them negative."""
    if isinstance(asked, int):
        asked = range(asked, asked + 1)
    if isinstance(asked, slice):
        asked = range(size)[asked]
    if isinstance(asked, range):
        numbers = torch.arange(len(asked)) * asked.step + asked.start
        found = [*asked[:1], *asked[-1:]]
    else:
        numbers = torch.as_tensor(asked)
        whole = not (numbers.is_floating_point() or numbers.dtype == torch.bool)
        if numbers.dim() != 1 or (len(numbers) and not whole):
            raise ShapeError(
                f"{name} must be whole numbers along one axis, "
                f"got {numbers.dtype} of shape {tuple(numbers.shape)}."
            )
        numbers = numbers.long()
        found = numbers.tolist()
    lost = [number for number in found if not -size <= number < size]
    if lost:
        raise ShapeError(
            f"{name} must lie in [-{size}, {size}), as there are {size}, got {lost[0]}."
        )
    return torch.where(numbers < 0, numbers + size, numbers)
