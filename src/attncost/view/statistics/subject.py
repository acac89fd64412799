"""The call that is looked at: checked, widened, cleaned of what cannot be multiplied."""

import math
from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.core.options import Options
from attncost.core.unseen import unseen
from attncost.kernels.calls import checked
from attncost.patterns.interface import Pattern
from attncost.view.statistics.gauges import Gauges

_MARKS: Final = ("query_mask", "padded")


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Subject:
    """One call of attention, in float32 or float64.

    Attributes:
        q: Queries, 0 where they are not finite; heads of all sequences stand side by side.
        k: Keys, 0 where they are not finite.
        v: Values, 0 where they are not finite; None if there are none.
        scale: Factor of the products.
        sizes: Sequences, heads, queries and keys.
        pattern: Which key each query reads.
        options: What else was asked.
        gauges: The dials.
        counted: Which queries count; all of them if None.
        padded: 1 for a key that holds padding; None if nobody says so.
        odd_bias: Whether some of a bias is no number.
        bad_queries: Queries that are not finite; None if there are none.
        bad_keys: Keys that are not finite, whose readers become NaN.
        bad_values: Values that are not finite, likewise for the output.
    """

    q: Float[Tensor, "lanes n d"]
    k: Float[Tensor, "shared m d"]
    v: Float[Tensor, "shared m e"] | None
    scale: float
    sizes: tuple[int, int, int, int]
    pattern: Pattern
    options: Options
    gauges: Gauges
    counted: Bool[Tensor, "b n"] | None
    padded: Float[Tensor, "b m"] | None
    odd_bias: bool
    bad_queries: Bool[Tensor, "lanes n"] | None
    bad_keys: Bool[Tensor, "shared m"] | None
    bad_values: Bool[Tensor, "shared m"] | None

    @property
    def group(self) -> int:
        """How many query heads share their keys."""
        return len(self.q) // max(1, len(self.k))

    @property
    def plain(self) -> bool:
        """Whether the pattern alone says what is read, and nothing is added to the scores."""
        options = self.options
        changing = (options.key_mask, options.segments, options.bias, options.alibi)
        return all(wish is None for wish in changing)


def check(
    qkv: tuple[Tensor, Tensor, Tensor | None],
    pattern: Pattern,
    options: Options,
    marks: tuple[Tensor | None, Tensor | None],
) -> None:
    """Refuse what cannot be looked at.

    Args:
        qkv: Queries, keys, values if there are any.
        pattern: Which key each query reads.
        options: What else was asked.
        marks: Which queries count and which keys are padding.

    Raises:
        ShapeError: If the tensors do not belong together or hold no numbers.
        UnsupportedOption: If dropout is asked for.
    """
    q, k, v = qkv
    given: tuple[tuple[str, object], ...] = (("q", q), ("k", k), ("v", k if v is None else v))
    for name, x in given:
        if not isinstance(x, Tensor):
            raise ShapeError(f"{name} must be a tensor, got a {type(x).__name__}.")
    checked(q, k, k if v is None else v, pattern, options)
    if options.dropout_p:
        raise UnsupportedOption(
            f"statistics are those of weights without dropout, got dropout_p = "
            f"{options.dropout_p}: leave it out."
        )
    for name, mark, of, axis in zip(_MARKS, marks, (q, k), ("length", "kv_length"), strict=True):
        _check_mark(name, mark, (of.shape[0], of.shape[2]), axis)
    for tensor in (q, k, v, *marks, *options.tensors()):
        why = None if tensor is None else unseen(tensor)
        if why is not None:
            raise ShapeError(f"statistics need numbers to look at, got a tensor {why}.")


def subject(
    qkv: tuple[Tensor, Tensor, Tensor | None],
    pattern: Pattern,
    options: Options,
    gauges: Gauges,
    marks: tuple[Tensor | None, Tensor | None],
) -> Subject:
    """Return the call; arguments as in `check`, and the dials."""
    (q, k, v), (query_mask, padded) = qkv, marks
    wide, bias = torch.promote_types(q.dtype, torch.float32), options.bias
    (b, h, n, d), m = q.shape, k.shape[2]
    q, bad_queries = _cleaned(q.to(wide).flatten(0, 1))
    k, bad_keys = _cleaned(k.to(wide).flatten(0, 1))
    v, bad_values = (None, None) if v is None else _cleaned(v.to(wide).flatten(0, 1))
    return Subject(
        q=q,
        k=k,
        v=v,
        scale=d**-0.5 if options.scale is None else options.scale,
        sizes=(b, h, n, m),
        pattern=pattern,
        options=options,
        gauges=gauges,
        counted=query_mask,
        padded=None if padded is None else padded.to(wide),
        odd_bias=bias is not None and bias.numel() > 0 and math.isnan(bias.amin()),
        bad_queries=bad_queries,
        bad_keys=bad_keys,
        bad_values=bad_values,
    )


def _check_mark(name: str, mark: object, shape: tuple[int, int], axis: str) -> None:
    wanted = f"{name} must be boolean of shape (batch, {axis}) = {shape}"
    if mark is None:
        return
    if not isinstance(mark, Tensor):
        raise ShapeError(f"{wanted}, got a {type(mark).__name__}.")
    if mark.dtype != torch.bool or mark.shape != shape:
        raise ShapeError(f"{wanted}, got {mark.dtype} of shape {tuple(mark.shape)}.")


def _cleaned(x: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return numbers, and which rows were none."""
    # Looking at each is far slower than adding them up, and sums seldom overflow.
    if math.isfinite(float(x.sum())):
        return x, None
    bad = ~x.isfinite().all(-1)
    return (x.masked_fill(bad[..., None], 0), bad) if bad.any() else (x, None)
