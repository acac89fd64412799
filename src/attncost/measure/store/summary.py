"""What a run says of each cell: the median of its samples, and how sure that is.

    [x(k), x(r + 1 - k)] with 1 - 2 P(Binomial(r, 1/2) < k) >= 95 %, samples x(1) ... x(r) sorted

The interval of the median holds whatever the noise looks like. With fewer than 6 rounds no
interval reaches 95 %; it is then all that was seen. A law's medians have the same intervals.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Final, final

from attncost.measure.clocks.usage import waited_share
from attncost.measure.store.sample import Sample

_DOUBT: Final = 0.05
# All of r samples lie on one side of the median in 2 / 2**r of cases, which 6 are the first to
# bring below 5 %.
FEWEST: Final = 6


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One subject at one length.

    Attributes:
        subject: What ran.
        length: Tokens of a sequence.
        rounds: Samples, without the warm-up.
        seconds: Median time of one call.
        low: Lower end of the interval around it.
        high: Upper end.
        peak_bytes: The most memory that one call held at once.
        waited: Median time that threads were ready and had no core, in parts of wall time.
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
    faults: float = 0.0


def measured(samples: Iterable[Sample]) -> tuple[Measured, ...]:
    """Return every cell that was sampled, in the order of subjects and lengths."""
    rows = list(samples)
    # Rounds are in random order, the warm-up before them is not.
    first_seen = {name: i for i, name in enumerate(dict.fromkeys(one.subject for one in rows))}
    taken = [one for one in rows if not one.warmup]
    taken.sort(key=lambda one: (first_seen[one.subject], one.length))
    cells = []
    for (subject, length), group in groupby(taken, lambda one: (one.subject, one.length)):
        cell = list(group)
        seconds = [one.seconds for one in cell]
        low, high = interval(seconds)
        cells.append(
            Measured(
                subject=subject,
                length=length,
                rounds=len(cell),
                seconds=median(seconds),
                low=low,
                high=high,
                peak_bytes=max(one.peak_bytes for one in cell),
                waited=median(waited_share(one.waited_seconds, one.wall_seconds) for one in cell),
                faults=median(one.minor_faults + one.major_faults for one in cell),
            )
        )
    return tuple(cells)


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
