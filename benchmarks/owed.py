"""What `benchmarks.kernels` owes: the limits, and which of them a run has kept.

All in float32, except that attncost may not be slower than the best peer in any type.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from benchmarks.cells import Cell, Found
from benchmarks.peers import OURS
from benchmarks.promise import Promise

FEWEST_ROUNDS: Final = 15
MEMORY_LENGTH: Final = 8192
MEMORY_LIMITS: Final = {False: 80.0, True: 260.0}  # MiB
_LONG: Final = 1024
_BEST_LONG, _BEST_SHORT = 1.05, 1.25

Results = Mapping[Cell, Mapping[str, Found]]
# MiB of one call and MiB kept before it, in some processes, by direction and contestant.
Peaks = Mapping[tuple[bool, str], Sequence[tuple[float, ...]]]


@final
@dataclass(frozen=True, slots=True)
class Limit:
    """The most that the time of a subject may be as a multiple of a column's.

    Attributes:
        subject: What attncost computes.
        column: What it is compared with.
        cell: Where.
        most: The limit.
    """

    subject: str
    column: str
    cell: Cell
    most: float

    def __str__(self) -> str:
        against = "causal SDPA" if self.column == "causal" else f"{self.column} SDPA"
        return f"{self.subject} / {against}, {self.cell.direction}, {self.cell.length:,}"


LIMITS: Final = tuple(
    Limit(subject, column, Cell("float32", backward, length), most)
    for subject, column, backward, length, most in (
        ("window", "causal", False, 2048, 0.60),
        ("window", "causal", False, 8192, 0.20),
        ("window", "causal", False, 16384, 0.15),
        ("window", "causal", True, 2048, 0.65),
        ("window", "causal", True, 8192, 0.20),
        ("strided", "causal", False, 8192, 0.35),
        ("fixed", "causal", False, 8192, 0.35),
        ("documents", "padded", False, 8192, 0.25),
        ("documents", "padded", True, 8192, 0.25),
    )
)


def always(cell: Cell) -> list[tuple[str, str]]:
    """Return the ratios that a limit at a cell speaks of."""
    return [(limit.subject, limit.column) for limit in LIMITS if limit.cell == cell]


def limits(results: Results) -> tuple[list[Promise], list[str]]:
    """Return the promised ratios that were measured, and the names of the others."""
    promises, absent = [], []
    for limit in LIMITS:
        found = results.get(limit.cell, {}).get(limit.subject)
        ratio = found.ratios.get(limit.column) if found else None
        if ratio is None or ratio.rounds < FEWEST_ROUNDS:
            absent.append(str(limit))
        else:
            promises.append(
                Promise(
                    name=str(limit),
                    figure=ratio.figure,
                    low=ratio.low,
                    high=ratio.high,
                    limit=limit.most,
                )
            )
    return promises, absent


def best_peers(results: Results) -> tuple[list[Promise], list[str]]:
    """Return the ratios to the best peer: all that are missed, or else the worst.

    A ratio of fewer than 15 rounds counts only where attncost is ahead: it was out of reach.
    """
    groups: dict[tuple[str, bool, float], list[Promise]] = {}
    absent = []
    for cell, found in results.items():
        limit = _BEST_LONG if cell.length >= _LONG else _BEST_SHORT
        for subject, one in found.items():
            best = one.best(subject)
            name = f"{subject} / best peer, {cell.direction}, {cell.dtype}, {cell.length:,}"
            if best is None or (best[1].rounds < FEWEST_ROUNDS and best[1].figure > 1):
                absent.append(name)
                continue
            column, ratio = best
            groups.setdefault((cell.dtype, cell.backward, limit), []).append(
                Promise(
                    name=f"{name} ({column})",
                    figure=ratio.figure,
                    low=ratio.low,
                    high=ratio.high,
                    limit=limit,
                )
            )
    return [promise for group in groups.values() for promise in _telling(group)], absent


def memory(peaks: Peaks) -> tuple[list[Promise], list[str]]:
    """Return what the window may take in each direction; ends are the least and the greatest."""
    promises, absent = [], []
    for backward, most in MEMORY_LIMITS.items():
        direction = Cell("float32", backward, MEMORY_LENGTH).direction
        name = f"window, extra MiB, {direction}, {MEMORY_LENGTH:,}"
        taken = sorted(one for one, _ in peaks.get((backward, OURS), ()))
        if not taken:
            absent.append(name)
            continue
        middle = taken[len(taken) // 2]
        promises.append(Promise(name=name, figure=middle, low=taken[0], high=taken[-1], limit=most))
    return promises, absent


def verdicts(results: Results, peaks: Peaks) -> tuple[list[Promise], list[str]]:
    """Return everything that was promised and measured, and the names of what was not measured."""
    all_of_them = (limits(results), best_peers(results), memory(peaks))
    return (
        [promise for promises, _ in all_of_them for promise in promises],
        [name for _, absent in all_of_them for name in absent],
    )


def _telling(promises: Iterable[Promise]) -> list[Promise]:
    ordered = sorted(promises, key=lambda one: one.low, reverse=True)
    return [one for one in ordered if not one.met] or ordered[:1]
