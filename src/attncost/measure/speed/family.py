"""What a family of operations is: which it prices, where they lie in its table, how it is timed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import torch
from torch import Tensor

from attncost.measure.clocks.interface import Run
from attncost.measure.speed.operation import Operation
from attncost.measure.speed.table import Knots

_POOL: Final = 1 << 24

Probe: TypeAlias = Callable[["Pool", tuple[int, ...]], Run]


@final
class Pool:
    """Random numbers that all probes share, so that the operands of hundreds fit in memory."""

    def __init__(self, elements: int = _POOL) -> None:
        generator = torch.Generator().manual_seed(0)
        self._numbers = torch.rand(elements, generator=generator, device="cpu") - 0.5

    def take(self, *shape: int, at: int = 0) -> Tensor:
        """Return a tensor of these sizes.

        Args:
            *shape: Its sizes.
            at: Which of several that do not overlap, as far as the pool reaches.
        """
        size = 1
        for one in shape:
            size *= one
        # A page apart, or the sets of a cache would clash.
        start = at * (size + 1040) % max(1, len(self._numbers) - size)
        return self._numbers[start : start + size].view(shape)


@final
@dataclass(frozen=True, slots=True)
class Place:
    """Where an operation lies in a table.

    Attributes:
        point: Its sizes, one for each axis.
        work: How much there is to do, in the table's units.
    """

    point: tuple[float, ...]
    work: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Operations that one table prices.

    Attributes:
        name: Of the table.
        operations: Their names; empty for a family that others ask.
        knots: Which sizes to time, for each axis of a point.
        least: The sizes of a call with next to nothing to do.
        probe: Makes the call to time at a point.
        work: What there is to do in it.
        place: Returns where an operation lies; None if it is another family's.
    """

    name: str
    operations: frozenset[str]
    knots: Knots
    least: tuple[int, ...]
    probe: Probe
    work: Callable[[tuple[int, ...]], float]
    place: Callable[[Operation], Place | None]


def argument(one: Operation, place: int, name: str, default: Any = None) -> Any:  # noqa: ANN401
    """Return what an operation took by position or by name.

    Args:
        one: The operation.
        place: Its position.
        name: Its name.
        default: If it was left out.
    """
    return one.args[place] if len(one.args) > place else one.kwargs.get(name, default)


def aten(names: str) -> frozenset[str]:
    """Return full names of PyTorch's own operations.

    >>> sorted(aten("mm bmm"))
    ['aten::bmm', 'aten::mm']
    """
    return frozenset(f"aten::{name}" for name in names.split())
