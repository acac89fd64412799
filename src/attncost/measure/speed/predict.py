"""What a call would take on a machine that was calibrated, before it runs there.

    seconds = sum over operations of start + work * rate + far bytes + Python around it
              + fault * bytes of blocks that the system hands out anew

Every operation is seen by a run on fake tensors and read from the table of its family; one that no
family prices is listed, and the total is then "at least". The roofline beside it knows two rates,
and is a bound: a machine does no more FLOPs than its best product and moves no byte for nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final, final

from torch import nn

from attncost.measure.laws.results import Interval
from attncost.measure.speed.calibration import Calibration
from attncost.measure.speed.families import placed
from attncost.measure.speed.operation import KEPT, Operation, Recording
from attncost.measure.speed.record import recorded
from attncost.measure.speed.table import Table

# Bytes of a second-level cache, in which code lies beside data.
_NEAREST: Final = 1 << 20
_TWO_SIDED: Final = 1.96
_VIEWS: Final = "views"
_AROUND: Final = "Python"
_FAULTS: Final = "page faults"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """All calls of one operation.

    Attributes:
        operation: Its name.
        calls: How many.
        seconds: What they take together.
        flops: Their FLOPs.
        bytes: What they read and write.
    """

    operation: str
    calls: int
    seconds: float
    flops: int
    bytes: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedTime:
    """What a call would take.

    Attributes:
        seconds: The time with its 95 % interval; at least so much, if something is unpriced.
        by_operation: Every operation, dearest first.
        around: Seconds of Python around operations, and of page faults.
        flops: FLOPs of products, executed.
        bytes: What all operations read and write.
        roofline: The seconds that a roofline says, a lower bound.
        peak: FLOPs a second of the best product.
        operations: How many there are.
        unpriced: Operations that no table prices, and how many calls of each.
    """

    seconds: Interval
    by_operation: tuple[Priced, ...]
    around: dict[str, float]
    flops: int
    bytes: int
    roofline: float
    peak: float
    operations: int
    unpriced: dict[str, int]

    @property
    def at_least(self) -> bool:
        """Whether the time leaves something out."""
        return bool(self.unpriced)

    @property
    def utilisation(self) -> float:
        """FLOPs a second over those of the best product, of what is priced."""
        seconds = self.seconds.value or 0.0
        priced = sum(row.flops for row in self.by_operation if row.operation not in self.unpriced)
        return priced / seconds / self.peak if seconds else 0.0


def predict(
    call: nn.Module | Callable[..., Any],
    calibration: Calibration,
    /,
    *inputs: Any,  # noqa: ANN401 -- the call's
    training: bool = False,
    **options: Any,  # noqa: ANN401 -- the call's
) -> PredictedTime:
    """Return what a call would take; nothing is computed.

    Args:
        call: A module, or any function of tensors.
        calibration: What is known of the machine.
        *inputs: What it is called with; real, fake or meta tensors.
        training: With the backward pass.
        **options: What it is called with by keyword.

    Raises:
        ShapeError: If it looks at numbers, or nothing has a gradient in training.
        UnsupportedOption: If tensors are of a class of their own.
    """
    return predicted(recorded(call, *inputs, training=training, **options), calibration)


def predicted(recording: Recording, calibration: Calibration) -> PredictedTime:
    """Return what the operations of a call would take, one after the other."""
    total = _Total(calibration)
    for one in recording.operations:
        total.add(one)
    total.fault(recording.mapped + (recording.heap if recording.heap > KEPT else 0))
    # A young process keeps twice the largest block that it ever freed, and no more.
    if 2 * recording.widest < recording.heap <= KEPT:
        total.doubt(recording.heap)
    return total.result()


@final
class _Total:
    """Adds up operations; errors of one table go the same way, those of several do not."""

    def __init__(self, calibration: Calibration) -> None:
        self._known = calibration
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._by_table: defaultdict[str, float] = defaultdict(float)
        self._around: defaultdict[str, float] = defaultdict(float)
        self._calls: Counter[str] = Counter()
        self._flops: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._unpriced: Counter[str] = Counter()
        self._roofline = self._doubtful = 0.0

    def add(self, one: Operation) -> None:
        """Add one operation."""
        known = self._known
        self._around[_AROUND] += known.python + known.waking * _swept(one.before)
        self._calls[one.name] += 1
        flops, moved = (0, 0) if one.cost is None else (int(one.cost.executed), int(one.cost.bytes))
        self._flops[one.name] += flops
        self._bytes[one.name] += moved
        self._roofline += max(flops / known.flops_per_second, moved / known.bytes_per_second)
        if one.kind == "free":
            self._seconds[one.name] += known.view
            self._by_table[_VIEWS] += known.view
            return
        found = placed(one)
        if found is None or found[0] not in known.tables:
            self._unpriced[one.name] += 1
            return
        name, place = found
        table = known.tables[name]
        far = sum(size * known.away(distance) for size, distance in one.far)
        start = table.start + (table.cold - table.start) * _swept(one.since)
        seconds = start + place.work * table.rate(place.point) + far
        self._seconds[one.name] += seconds
        self._by_table[name] += seconds

    def fault(self, size: int) -> None:
        """Add the page faults of so many new bytes."""
        self._around[_FAULTS] += self._known.fault * size

    def doubt(self, size: int) -> None:
        """Let it take longer by the page faults of so many bytes, which may come or not."""
        self._doubtful += self._known.fault * size

    def result(self) -> PredictedTime:
        """Return the sum."""
        around = dict(self._around)
        value = sum(self._seconds.values()) + sum(around.values())
        off = _TWO_SIDED * self._deviation(value)
        rows = (
            Priced(
                operation=name,
                calls=calls,
                seconds=self._seconds[name],
                flops=self._flops[name],
                bytes=self._bytes[name],
            )
            for name, calls in self._calls.items()
        )
        return PredictedTime(
            seconds=Interval.around(value, max(0.0, value - off), value + off + self._doubtful),
            by_operation=tuple(sorted(rows, key=lambda row: (-row.seconds, row.operation))),
            around=around,
            flops=sum(self._flops.values()),
            bytes=sum(self._bytes.values()),
            roofline=self._roofline,
            peak=self._known.flops_per_second,
            operations=sum(self._calls.values()),
            unpriced=dict(self._unpriced),
        )

    def _deviation(self, value: float) -> float:
        """Return the standard deviation: of each table, of what lies around, of the machine."""
        tables = self._known.tables
        squares = (self._known.drift * value) ** 2
        for name, seconds in self._by_table.items():
            off = _spread(tables[name]) if name in tables else _COARSE
            squares += (off * seconds) ** 2
        squares += sum((_COARSE * seconds) ** 2 for seconds in self._around.values())
        return sqrt(squares)


def _swept(touched: int) -> float:
    """Return which part of the nearest caches was filled with something else."""
    return min(1.0, touched / _NEAREST)


def _spread(table: Table) -> float:
    return sqrt(table.spread**2 + table.error**2)


# How far views, Python and page faults may be off: they are one number for all of them.
_COARSE: Final = 0.3
