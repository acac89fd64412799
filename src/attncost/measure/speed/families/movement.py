"""Moving numbers: filling, copying, gathering rows and adding up.

work = bytes read and written
"""

from typing import Final

import torch

from attncost.measure.clocks.interface import Run
from attncost.measure.speed.family import Family, Place, Pool, aten
from attncost.measure.speed.operation import Layout, Operation

_BYTES: Final = (1 << 13, 1 << 17, 1 << 21, 1 << 25)
_RUNS: Final = (4, 64, 256, 4096)
# A copy that puts a tensor into order takes as long as gathering so many times its bytes.
_TRANSPOSED: Final = 2
_FILLS: Final = aten("""
    zeros zeros_like new_zeros zero_ full full_like new_full fill_ ones ones_like new_ones arange
    scalar_tensor tril triu eye
""")
_COPIES: Final = aten("""
    clone copy_ _to_copy contiguous cat stack repeat constant_pad_nd roll flip slice_scatter
    select_backward slice_backward as_strided_scatter as_strided_copy index_put_ index_put
    select_scatter lift_fresh_copy
""")
_GATHERS: Final = aten("""
    index_select gather embedding index index_add index_add_ index_copy_ scatter scatter_
    scatter_add scatter_add_ embedding_dense_backward take_along_dim
""")
_SUMS: Final = aten("sum mean all any amax amin max min argmax dot linalg_vector_norm norm cumsum")


def _out(one: Operation) -> int:
    return sum(x.bytes for x in one.outputs)


def _fills() -> Family:
    def probe(pool: Pool, point: tuple[int, ...]) -> Run:
        numbers = max(1, point[0] // 4)
        return lambda: torch.zeros(numbers)

    return Family(
        name="fill",
        operations=_FILLS,
        knots=(_BYTES[:-1],),
        least=(4,),
        probe=probe,
        work=lambda point: float(point[0]),
        place=lambda one: Place((max(_out(one), 1),), float(_out(one))),
    )


def _copies() -> Family:
    def probe(pool: Pool, point: tuple[int, ...]) -> Run:
        moved, run = point
        numbers, width = max(1, moved // 8), max(1, run // 4)
        outer = max(1, numbers // (width * 8))
        x = pool.take(outer, min(8, max(1, numbers // width)), width)
        return lambda: x.transpose(0, 1).contiguous() if outer > 1 else x.clone()

    def place(one: Operation) -> Place | None:
        moved = 2 * max(_out(one), 1)
        runs = [x.run * x.itemsize for x in (*one.inputs, *one.outputs) if x.elements > 1]
        return Place((moved, max(1, min(runs, default=4096))), float(moved))

    return Family(
        name="copy",
        operations=_COPIES,
        knots=(_BYTES, _RUNS),
        least=(8, 4),
        probe=probe,
        work=_copied,
        place=place,
    )


def _copied(point: tuple[int, ...]) -> float:
    moved, run = point
    numbers, width = max(1, moved // 8), max(1, run // 4)
    outer = max(1, numbers // (width * 8))
    return 8.0 * outer * min(8, max(1, numbers // width)) * width


def _gathers() -> Family:
    def probe(pool: Pool, point: tuple[int, ...]) -> Run:
        moved, row = point
        width = max(1, row // 4)
        rows = max(1, moved // (8 * width))
        x = pool.take(4 * rows, width)
        chosen = torch.arange(rows) * 3
        return lambda: x.index_select(0, chosen)

    def place(one: Operation) -> Place | None:
        moved = max((x.bytes for x in one.outputs), default=0)
        row = _row(one.outputs[0]) if one.outputs else 4
        # What does not lie in one piece is put into one first, all of it.
        whole = one.inputs[0] if one.inputs and one.name == "aten::index_select" else None
        if whole is not None and whole.run < whole.elements:
            moved += _TRANSPOSED * whole.bytes
        return Place((max(2 * moved, 1), row), 2.0 * moved)

    return Family(
        name="gather",
        operations=_GATHERS,
        knots=((1 << 13, 1 << 17, 1 << 21), (64, 1024)),
        least=(8, 4),
        probe=probe,
        work=lambda point: float(
            8 * max(1, point[1] // 4) * max(1, point[0] // (8 * max(1, point[1] // 4)))
        ),
        place=place,
    )


def _row(x: Layout) -> int:
    return max(4, x.shape[-1] * x.itemsize) if x.shape else 4


def _sums(name: str, *, across: bool) -> Family:
    def probe(pool: Pool, point: tuple[int, ...]) -> Run:
        numbers = max(1, point[0] // 4)
        x = pool.take(max(1, numbers // 256), min(256, numbers))
        return (lambda: x.sum(0, keepdim=True)) if across else x.sum

    def place(one: Operation) -> Place | None:
        if not one.inputs or _is_across(one) != across:
            return None
        moved = sum(x.elements * x.itemsize for x in one.inputs)
        return Place((max(moved, 1),), float(moved))

    return Family(
        name=name,
        operations=_SUMS,
        knots=(_BYTES[:-1],),
        least=(4,),
        probe=probe,
        work=lambda point: float(point[0]),
        place=place,
    )


def _is_across(one: Operation) -> bool:
    """Say whether it goes over an axis whose neighbours do not lie side by side."""
    given = one.args[1] if len(one.args) > 1 else one.kwargs.get("dim")
    x = one.inputs[0]
    axes = [given] if isinstance(given, int) else given
    if not isinstance(axes, list | tuple) or not axes or not x.shape:
        return False
    return all(x.strides[axis] != 1 for axis in axes)


FAMILIES: Final = (
    _fills(),
    _copies(),
    _gathers(),
    _sums("sum", across=False),
    _sums("sum across", across=True),
)
