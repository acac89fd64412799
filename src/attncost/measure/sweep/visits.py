"""The cells of one sweep: which of them live, what they take, and what was lost.

A cell whose calls would eat the rest of the budget is not even tried. How long a call takes is
judged from the next shorter length of its series: longer by at least as much as the formula has
more FLOPs. Of the first length all that is known is what it takes on the fastest machine there is,
and one that would eat the whole budget there is not tried.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from attncost.core.units import show
from attncost.measure.store.sample import skipped_of
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.subject import Subject
from attncost.measure.sweep.cell import Ready, Record, identity
from attncost.measure.sweep.enough import Series, Times
from attncost.measure.sweep.least import CALLS, least_seconds
from attncost.measure.sweep.past import Past
from attncost.measure.sweep.plan import FEWEST_ROUNDS, Plan
from attncost.measure.sweep.runner import Key, Lost, Runner


@final
@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sweep is.

    Attributes:
        doing: What it does next.
        done: Seconds of sampling that lie behind it, as expected.
        total: Seconds of sampling in all, as expected; None while it gets ready.
    """

    doing: str
    done: float = 0.0
    total: float | None = None


@final
@dataclass(frozen=True, slots=True)
class _Live:
    """A cell that is sampled.

    Attributes:
        subject: What runs.
        ready: What making it ready gave.
        flops: What one call computes, by formula.
    """

    subject: Subject
    ready: Ready
    flops: int

    def longer(self, flops: int) -> float:
        """Return the seconds that a call of more FLOPs takes, at least."""
        return self.ready.seconds / self.ready.known.repeats * flops / max(self.flops, 1)


@final
class Visits:
    """The cells of a sweep.

    Attributes:
        live: Those that are sampled.
        skipped: Those that are not, and why, in words.
        times: What was sampled, those before it went on included.
    """

    __slots__ = (
        "_known",
        "_lost_before",
        "_planned",
        "_progress",
        "_record",
        "_runner",
        "_shorter",
        "live",
        "skipped",
        "times",
    )

    def __init__(
        self, runner: Runner, record: Record, progress: Callable[[Progress], None], past: Past
    ) -> None:
        self._runner, self._record, self._progress = runner, record, progress
        self._known, self._lost_before = past.known(), past.skipped
        self.times = Times.of(past)
        self._planned: list[Key] = []
        # The live cells of each series, in the order of their lengths.
        self._shorter: defaultdict[Series, dict[int, _Live]] = defaultdict(dict)
        self.live: dict[Key, _Live] = {}
        self.skipped: list[str] = []

    @property
    def expected(self) -> float:
        """Seconds that a round will take."""
        return sum(cell.ready.seconds for cell in self.live.values())

    def width(self) -> float | None:
        """Return how wide the widest interval of an exponent is; None if one has none yet."""
        return self.times.width(self.live)

    def finished(self) -> int:
        """Return how many rounds are complete."""
        return self.times.finished(self.live)

    def prepare(self, subject: Subject, case: Case, *, left: float, budget: float | None) -> None:
        """Make a cell ready, or skip it.

        Args:
            subject: What runs.
            case: At which sizes, and how.
            left: Seconds that are left of the budget.
            budget: Seconds of all of it.
        """
        key = (subject.name, case)
        self._planned.append(key)
        if key in self._lost_before:
            self.skipped.append(self._lost_before[key].note)
            return
        self._progress(Progress(f"warming up: {_called(key)}"))
        found = self._ready(subject, case, left, budget)
        if isinstance(found, Lost):
            self._lose(key, subject, found)
            return
        for row in found.ready.rows:
            self._record(row)
        self.live[key] = self._shorter[subject.name, case.series][case.length] = found

    def _ready(
        self, subject: Subject, case: Case, left: float, budget: float | None
    ) -> _Live | Lost:
        """Make a cell ready, unless it is hopeless."""
        known = self._known.get((subject.name, case))
        predicted = self._runner.predict(subject, case)
        if isinstance(predicted, Lost):
            return predicted
        flops, shorter = predicted.linear + predicted.core, self._shorter[subject.name, case.series]
        if known is None and budget is not None:
            seconds = [cell.longer(flops) for cell in shorter.values()][-1:]
            # Others may have spent all of it, and the first length is tried all the same.
            left = max(0.0, left - FEWEST_ROUNDS * self.expected) if seconds else budget
            if lost := _unaffordable(max([least_seconds(case, predicted), *seconds]), left):
                return lost
        peaks = {n: cell.ready.known.peak for n, cell in shorter.items()}
        found = self._runner.ready(subject, case, known=known, peaks=peaks)
        return found if isinstance(found, Lost) else _Live(subject, found, flops)

    def round(self, number: int, plan: Plan, rounds: int) -> None:
        """Sample every cell once that this round has not visited; some may be lost.

        Args:
            number: Of the round.
            plan: Draws the order.
            rounds: How many there will be, as expected.
        """
        expected = self.expected
        done = number * expected
        for key in plan.order(self._planned, number):
            if key not in self.live or self.times.has(key, number):
                continue
            doing = f"round {number + 1} of {rounds}: {_called(key)}"
            self._progress(Progress(doing, done, rounds * expected))
            done += self.live[key].ready.seconds
            self._sample(key, number)

    def _sample(self, key: Key, number: int) -> None:
        rows = self._runner.sample(key, number)
        if isinstance(rows, Lost):
            self._lose(key, self.live.pop(key).subject, rows)
            return
        for row in rows:
            self._record(row)
        self.times.add(key, number, rows[-1]["seconds"])

    def _lose(self, key: Key, subject: Subject, lost: Lost) -> None:
        row = {"kind": "skipped", **identity(subject, key[1])}
        row |= {"cause": lost.cause, "reason": lost.reason}
        self._record(row)
        self.skipped.append(skipped_of(row).note)


def _unaffordable(seconds: float, left: float) -> Lost | None:
    """Say why a cell is not worth its time."""
    if CALLS * seconds <= left:
        return None
    return Lost(
        "budget",
        f"a call would take {show(seconds, 'seconds')} or more, {CALLS} of them are needed, "
        f"and the budget has {show(left, 'seconds')} left for them: --budget allows more.",
    )


def _called(key: Key) -> str:
    """Return the words for a cell."""
    name, case = key
    return f"{', '.join(filter(None, (name, case.series)))} at {case.length:,}"
