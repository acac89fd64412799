"""What is worked out number by number: arithmetic by its bytes, functions by their numbers.

work = bytes read and written, or numbers where each takes long
"""

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional

from attncost.measure.clocks.interface import Run
from attncost.measure.speed.family import Family, Place, Pool, aten
from attncost.measure.speed.operation import Operation

_NUMBERS: Final = (1 << 11, 1 << 14, 1 << 17, 1 << 20)
_BYTES: Final = (1 << 13, 1 << 17, 1 << 21, 1 << 24, 1 << 26)
_ATEN: Final = torch.ops.aten


def _drawn(x: Tensor) -> Tensor:
    return torch.empty_like(x).bernoulli_(0.5)


# Operations that take longer than it takes to move their numbers.
_FUNCTIONS: Final[dict[str, tuple[str, Callable[[Tensor], object]]]] = {
    "gelu": ("gelu", functional.gelu),
    "gelu backward": ("gelu_backward", lambda x: _ATEN.gelu_backward(x, x)),
    "exp": ("exp exp_ expm1 erf sigmoid silu silu_ silu_backward pow rsqrt", torch.exp),
    "log": ("log log_ log1p logaddexp softplus", torch.log),
    "tanh": ("tanh tanh_ sin cos", torch.tanh),
    "dropout": ("bernoulli_ native_dropout rand rand_like uniform_", _drawn),
}


def _function(name: str) -> Family:
    names, run = _FUNCTIONS[name]

    def probe(pool: Pool, point: tuple[int, ...]) -> Run:
        x = pool.take(point[0])
        return lambda: run(x)

    def place(one: Operation) -> Place | None:
        numbers = max((x.elements for x in one.outputs), default=0)
        return Place((max(numbers, 1),), float(numbers))

    return Family(
        name=name,
        operations=aten(names),
        knots=(_NUMBERS,),
        least=(1,),
        probe=probe,
        work=lambda point: float(point[0]),
        place=place,
    )


def _touched(one: Operation) -> int:
    return sum(x.bytes for x in one.inputs) + sum(x.bytes for x in one.outputs)


def _is_broadcast(one: Operation) -> bool:
    """Say whether numbers are spread, of another type or not side by side: one at a time then."""
    out = one.outputs[:1]
    return any(
        x.shape not in (y.shape, ()) or x.dtype != y.dtype or x.run < x.elements
        for x in one.inputs
        for y in out
    )


def _grid(numbers: int) -> tuple[int, int]:
    """Return rows and columns of about so many numbers."""
    rows = max(1, numbers // 256)
    return rows, max(1, numbers // rows)


def _size(point: tuple[int, ...]) -> float:
    rows, columns = _grid(point[0])
    return float(rows * columns)


def _arithmetic() -> Family:
    def probe(pool: Pool, point: tuple[int, ...]) -> Run:
        numbers = max(1, point[0] // 12)
        x, y = pool.take(numbers), pool.take(numbers, at=1)
        return lambda: x + y

    def place(one: Operation) -> Place | None:
        if one.kind != "pointwise" or not one.outputs or _is_broadcast(one):
            return None
        moved = _touched(one)
        return Place((max(moved, 1),), float(moved))

    return Family(
        name="arithmetic",
        operations=frozenset(),
        knots=(_BYTES,),
        least=(12,),
        probe=probe,
        work=lambda point: 12.0 * max(1, point[0] // 12),
        place=place,
    )


def _broadcast() -> Family:
    def probe(pool: Pool, point: tuple[int, ...]) -> Run:
        rows, columns = _grid(point[0])
        x = torch.arange(rows)[:, None]
        y = torch.arange(columns)[None]
        return lambda: y <= x

    def place(one: Operation) -> Place | None:
        if one.kind != "pointwise" or not one.outputs:
            return None
        numbers = max(x.elements for x in (*one.outputs, *one.inputs))
        return Place((max(numbers, 1),), float(numbers))

    return Family(
        name="arithmetic, spread",
        operations=frozenset(),
        knots=(_NUMBERS,),
        least=(1,),
        probe=probe,
        work=_size,
        place=place,
    )


def _hidden() -> Family:
    def probe(pool: Pool, point: tuple[int, ...]) -> Run:
        x = pool.take(*_grid(point[0]))
        mask = torch.arange(x.shape[1]) > 3
        return lambda: x.masked_fill(mask, 0.0)

    def place(one: Operation) -> Place | None:
        numbers = max((x.elements for x in one.outputs), default=0)
        return Place((max(numbers, 1),), float(numbers))

    return Family(
        name="masked fill",
        operations=aten("masked_fill masked_fill_ where"),
        knots=(_NUMBERS,),
        least=(1,),
        probe=probe,
        work=_size,
        place=place,
    )


FAMILIES: Final = (*map(_function, _FUNCTIONS), _hidden(), _arithmetic(), _broadcast())
