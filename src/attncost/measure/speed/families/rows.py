"""Softmax and normalisation over rows: by numbers in a row and numbers in all.

work = numbers
"""

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

from attncost.measure.clocks.interface import Run
from attncost.measure.speed.family import Family, Place, Pool, argument, aten
from attncost.measure.speed.operation import Operation

_ROWS: Final = (64, 512, 4096)
_NUMBERS: Final = (1 << 13, 1 << 17, 1 << 21)
_ATEN: Final = torch.ops.aten


def _softmax(x: Tensor) -> Run:
    return lambda: torch.softmax(x, -1)


def _softmax_backward(x: Tensor) -> Run:
    return lambda: _ATEN._softmax_backward_data(x, x, -1, torch.float32)


def _norm(x: Tensor) -> Run:
    scale = x[0]
    return lambda: torch.native_layer_norm(x, [x.shape[-1]], scale, scale, 1e-5)


def _norm_backward(x: Tensor) -> Run:
    scale, row = x[0], [x.shape[-1]]
    _, mean, deviation = torch.native_layer_norm(x, row, scale, scale, 1e-5)
    asked = [True, True, True]
    return lambda: _ATEN.native_layer_norm_backward(x, x, row, mean, deviation, scale, scale, asked)


def _log_sum(x: Tensor) -> Run:
    return lambda: torch.logsumexp(x, -1)


_KINDS: Final[dict[str, tuple[str, Callable[[Tensor], Run]]]] = {
    "softmax": ("_softmax _log_softmax", _softmax),
    "softmax backward": ("_softmax_backward_data _log_softmax_backward_data", _softmax_backward),
    "layer norm": ("native_layer_norm _fused_rms_norm native_group_norm", _norm),
    "layer norm backward": ("native_layer_norm_backward", _norm_backward),
    "logsumexp": ("logsumexp", _log_sum),
}


def _family(name: str) -> Family:
    names, make = _KINDS[name]

    def probe(pool: Pool, point: tuple[int, ...]) -> Run:
        row, numbers = point
        return make(pool.take(max(1, numbers // row), row))

    def place(one: Operation) -> Place | None:
        x = one.inputs[0]
        if not x.elements or x.dtype != "float32":
            return None
        return Place((_row(one), x.elements), float(x.elements))

    return Family(
        name=name,
        operations=aten(names),
        knots=(_ROWS, _NUMBERS),
        least=(1, 1),
        probe=probe,
        work=lambda point: float(point[1]),
        place=place,
    )


def _row(one: Operation) -> int:
    """Return the numbers of a row: those of the axes that it goes over."""
    x, given = one.inputs[0], argument(one, 1, "dim", default=-1)
    if "norm" in one.name:
        row = 1
        weights = [y for y in one.inputs[1:] if len(y.shape) == 1]
        for y in weights[-1:]:
            row = y.elements
        return max(row, 1)
    if not isinstance(given, int | list | tuple):
        given = argument(one, 2, "dim", default=-1)
    axes = [given] if isinstance(given, int) else list(given)
    row = 1
    for axis in axes:
        row *= x.shape[axis] if x.shape else 1
    return max(row, 1)


FAMILIES: Final = tuple(map(_family, _KINDS))
