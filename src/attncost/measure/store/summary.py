"""What a run says of each cell: the median of its samples, and how sure that is.

    [x(k), x(r + 1 - k)] with 1 - 2 P(Binomial(r, 1/2) < k) >= 95 %, samples x(1) ... x(r) sorted

The interval of the median holds whatever the noise looks like. With fewer than 6 rounds no
interval reaches 95 %; it is then all that was seen. A law's medians have the same intervals.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, final

from attncost.measure.clocks.usage import disturbed, waited_share
from attncost.measure.store.sample import Sample

_DOUBT: Final = 0.05
# All of r samples lie on one side of the median in 2 / 2**r of cases, which 6 are the first to
# bring below 5 %.
FEWEST: Final = 6


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One series at one length.

    Attributes:
        subject: What ran, by the name of its series.
        length: Tokens of a sequence.
        rounds: Samples, without the warm-up.
        seconds: Median time of one call.
        low: Lower end of the interval around it.
        high: Upper end.
        peak_bytes: The most memory that one call held at once.
        waited: Median time that threads were ready and had no core, in parts of wall time.
        disturbed: Samples that waited for more than 5 % of theirs.
        faults: Median of the pages that a call mapped or read from a disk.
    """

    subject: str
    length: int
    rounds: int
    seconds: float
    low: float
    high: float
    peak_bytes: int
    waited: float = 0.0
    disturbed: int = 0
    faults: float = 0.0


def measured(rows: Iterable[Sample], *, series: str) -> tuple[Measured, ...]:
    """Return the cells of one series, by increasing length, the warm-up left out.

    Args:
        rows: The samples of the series alone.
        series: Its name.
    """
    lengths: dict[int, list[Sample]] = {}
    for row in rows:
        if not row.warmup:
            lengths.setdefault(row.length, []).append(row)
    return tuple(_cell(series, length, lengths[length]) for length in sorted(lengths))


def _cell(series: str, length: int, rows: Sequence[Sample]) -> Measured:
    seconds = [row.seconds for row in rows]
    low, high = interval(seconds)
    waits = [(row.waited_seconds, row.wall_seconds) for row in rows]
    return Measured(
        subject=series,
        length=length,
        rounds=len(rows),
        seconds=median(seconds),
        low=low,
        high=high,
        peak_bytes=max(row.peak_bytes for row in rows),
        waited=median(waited_share(*one) for one in waits),
        disturbed=sum(disturbed(*one) for one in waits),
        faults=median(row.minor_faults + row.major_faults for row in rows),
    )


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the narrowest pair of sorted values that holds the median with 95 % confidence.

    Of fewer than `FEWEST` values it is the least and the greatest, which promise less.

    >>> interval([5, 1, 4, 2, 3, 7, 6, 9, 8])
    (2, 8)
    """
    ordered, count = sorted(values), len(values)
    outside, kept = 0.0, 0
    for below in range(count // 2):
        outside += 2 * math.comb(count, below) / 2**count
        if outside > _DOUBT:
            break
        kept = below
    return ordered[kept], ordered[count - 1 - kept]
