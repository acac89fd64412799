"""How far approximations are from exact attention, as a function of their dial.

    error = ||other - exact|| / ||exact||        over all queries and heads of a call, in float64

The dial is what a query reads in place of n keys: the width of a window, the rows of a projection
(Linformer), the rank of a matrix, the features of a state (linear attention, which has no dial).
Projections are random ones of variance 1 / rank, as in Theorem 2 of Wang et al. 2020,
arXiv:2006.04768: they are not trained, and training is what they live from. The floor is the matrix
of weights cut to its best rank (Eckart & Young 1936), which takes all n x n weights to find.

time  O(n² d + n³) for each head, so it is for lengths that a dense matrix can be looked at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import torch
from jaxtyping import Float
from torch import Tensor

from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.kernels.attention import attention
from attncost.kernels.weights import attention_weights
from attncost.mechanisms.linear import Linear
from attncost.mechanisms.linformer import Linformer
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.window import Window

# Queries, keys and values.
Qkv: TypeAlias = tuple[Float[Tensor, "b h n d"], Float[Tensor, "b g m d"], Float[Tensor, "b g m e"]]

DIALS: Final = (8, 16, 32, 64, 128, 256)
WINDOW: Final = "window"
LINFORMER: Final = "linformer"
FLOOR: Final = "best rank"
LINEAR: Final = "linear {}"
_SEED: Final = 0


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorRow:
    """One approximation at one dial.

    Attributes:
        method: What it is.
        dial: What a query reads: keys of a window, projected keys, rank or features.
        error: Mean over calls.
        low: Of the call with the least error.
        high: Of the call with the greatest.
    """

    method: str
    dial: int
    error: float
    low: float
    high: float


def random_calls(*, heads: int, length: int, head_dim: int, seed: int = _SEED) -> tuple[Qkv, ...]:
    """Return one call of random queries, keys and values, all normal with variance 1."""
    generator = torch.Generator().manual_seed(seed)
    shape = (3, 1, heads, length, head_dim)
    q, k, v = torch.randn(shape, generator=generator, dtype=torch.float64).unbind()
    return ((q, k, v),)


def errors_by_dial(
    calls: Sequence[Qkv], *, causal: bool = False, dials: Sequence[int] = DIALS
) -> tuple[ErrorRow, ...]:
    """Return the errors of windows, projections and linear attention.

    Args:
        calls: Of exact attention, of one length; their scale is `head_dim ** -0.5`.
        causal: Whether a query reads no later key; projections then do not apply.
        dials: What is tried; those of more than there are keys are left out.

    Raises:
        ShapeError: If there is no call, or queries and keys differ in number.
    """
    if not calls or any(q.shape[2] != k.shape[2] for q, k, _ in calls):
        raise ShapeError("errors need calls of self-attention, with as many queries as keys.")
    with torch.no_grad():
        each = [list(_of_call(_wide(call), causal=causal, dials=dials)) for call in calls]
    return tuple(_pooled(of) for of in zip(*each, strict=True))


def _of_call(call: Qkv, *, causal: bool, dials: Sequence[int]) -> Iterator[tuple[str, int, float]]:
    q, k, v = call
    n, pattern = q.shape[2], Causal() if causal else Full()
    weights = attention_weights(q, k, pattern)
    exact = weights @ v
    fit = [dial for dial in dials if dial <= n]
    for dial in fit:
        width = Window(dial) if causal else Window(dial, ahead=(dial - 1) // 2)
        yield WINDOW, dial, _error(attention(q, k, v, width), exact)
    if not causal:
        for dial in fit:
            yield LINFORMER, dial, _error(_projected(call, dial), exact)
        for dial, cut in zip(fit, _cut(weights, fit), strict=True):
            yield FLOOR, dial, _error(cut @ v, exact)
    for feature_map in ("elu", "softmax"):
        found = Linear(feature_map, causal=causal).attend(q, k, v, {})
        yield LINEAR.format(feature_map), q.shape[3], _error(found, exact)


def _projected(call: Qkv, rank: int) -> Float[Tensor, "b h n e"]:
    """Return what Linformer makes of keys and values, both projected by one random matrix."""
    q, k, v = call
    generator = torch.Generator().manual_seed(_SEED)
    drawn = torch.randn(rank, k.shape[2], generator=generator, dtype=q.dtype) * rank**-0.5
    mechanism = Linformer(rank)
    names = mechanism.parameters(Dims.of(q.shape, k.shape, v.shape))
    return mechanism.attend(q, k, v, dict.fromkeys(names, drawn))


def _cut(
    weights: Float[Tensor, "b h n m"], ranks: Sequence[int]
) -> Iterator[Float[Tensor, "b h n m"]]:
    """Yield the nearest matrices of some ranks."""
    u, values, vh = torch.linalg.svd(weights, full_matrices=False)
    for rank in ranks:
        yield (u[..., :rank] * values[..., None, :rank]) @ vh[..., :rank, :]


def _wide(call: Qkv) -> tuple[Tensor, Tensor, Tensor]:
    """Return a call in float64, with as many heads of keys and values as of queries."""
    q, k, v = (x.double() for x in call)
    shared = q.shape[1] // k.shape[1]
    return q, k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)


def _error(found: Tensor, exact: Tensor) -> float:
    return float(torch.linalg.vector_norm(found - exact) / torch.linalg.vector_norm(exact))


def _pooled(of: Sequence[tuple[str, int, float]]) -> ErrorRow:
    """Return one row of what every call showed."""
    method, dial, _ = of[0]
    found = [error for _, _, error in of]
    return ErrorRow(
        method=method,
        dial=dial,
        error=sum(found) / len(found),
        low=min(found),
        high=max(found),
    )
