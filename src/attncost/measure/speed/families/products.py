"""Products of matrices, single and batched: by their three sizes and by which factor is transposed.

work = 2 m k n FLOPs of each product of (m, k) and (k, n)
"""

from typing import Final

import torch

from attncost.measure.clocks.interface import Run
from attncost.measure.speed.family import Family, Place, Pool, aten
from attncost.measure.speed.operation import Layout, Operation

_BATCH: Final = 2
_KINDS: Final = ("nn", "nt", "tn")
_SINGLE: Final = aten("mm addmm")
_BATCHED: Final = aten("bmm baddbmm")
_SIDES: Final = (64, 256, 1024)
_SINGLE_KNOTS: Final = {
    "nt": ((1, 8, 32, 128, 512, 2048), _SIDES, _SIDES),
    "nn": ((8, 64, 512, 2048), _SIDES, _SIDES),
    "tn": (_SIDES, (8, 64, 512, 2048), _SIDES),
}
_SIZES: Final = (32, 128, 1024)


def _is_transposed(factor: Layout) -> bool:
    rows, columns = factor.strides[-2:]
    return columns != 1 and rows == 1


def _factors(one: Operation) -> tuple[Layout, Layout]:
    first = len(one.inputs) - 2
    a, b = one.inputs[first:]
    return a, b


def _placed(one: Operation, kind: str) -> Place | None:
    a, b = _factors(one)
    if a.dtype != "float32" or kind != _kind(a, b):
        return None
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    count = a.shape[0] if len(a.shape) == 3 else 1
    return Place((max(m, 1), max(k, 1), max(n, 1)), 2.0 * count * m * k * n)


def _kind(a: Layout, b: Layout) -> str:
    if _is_transposed(a):
        return "tn"
    return "nt" if _is_transposed(b) else "nn"


def _single(kind: str) -> Family:
    def probe(pool: Pool, point: tuple[int, ...]) -> Run:
        m, k, n = point
        a = pool.take(k, m).t() if kind == "tn" else pool.take(m, k)
        b = pool.take(n, k, at=1).t() if kind == "nt" else pool.take(k, n, at=1)
        bias = pool.take(n, at=2)
        if kind == "nt":
            return lambda: torch.addmm(bias, a, b)
        return lambda: torch.mm(a, b)

    return Family(
        name=f"product {kind}",
        operations=_SINGLE,
        knots=_SINGLE_KNOTS[kind],
        least=(1, 1, 1),
        probe=probe,
        work=lambda point: 2.0 * point[0] * point[1] * point[2],
        place=lambda one: _placed(one, kind),
    )


def _batched(kind: str) -> Family:
    def probe(pool: Pool, point: tuple[int, ...]) -> Run:
        m, k, n = point
        a = pool.take(_BATCH, k, m).mT if kind == "tn" else pool.take(_BATCH, m, k)
        b = pool.take(_BATCH, n, k, at=1).mT if kind == "nt" else pool.take(_BATCH, k, n, at=1)
        return lambda: torch.bmm(a, b)

    return Family(
        name=f"batched product {kind}",
        operations=_BATCHED,
        knots=(_SIZES, _SIZES, _SIZES),
        least=(1, 1, 1),
        probe=probe,
        work=lambda point: 2.0 * _BATCH * point[0] * point[1] * point[2],
        place=lambda one: _placed(one, kind),
    )


FAMILIES: Final = (*map(_single, _KINDS), *map(_batched, _KINDS))
