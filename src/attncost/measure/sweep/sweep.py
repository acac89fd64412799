"""A sweep: every subject in every case, in rounds that visit all of them in random order.

A machine that is slow for a while slows cells of every length, so ratios and exponents survive
it. A timing is never taken under a profiler: memory is measured by a call of its own. What drifts
over minutes, such as a laptop that heats up, is not undone.
"""

import math
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, final

from attncost.core.errors import ShapeError
from attncost.measure.clocks.interface import Clock
from attncost.measure.subjects.subject import Subject
from attncost.measure.sweep.cell import Record
from attncost.measure.sweep.enough import Times
from attncost.measure.sweep.past import Past
from attncost.measure.sweep.plan import FEWEST_ROUNDS, Plan
from attncost.measure.sweep.runner import InProcess, Key, Runner
from attncost.measure.sweep.visits import Progress, Visits

Ended: TypeAlias = Literal["enough", "rounds", "budget", "nothing"]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """What a sweep works with; usually in this process, from the beginning, and in silence.

    Attributes:
        runner: Makes, from a clock, where cells run.
        progress: Is told what is done next.
        past: What the run holds already.
        now: Seconds that pass on the wall.
    """

    runner: Callable[[Clock], AbstractContextManager[Runner]] = InProcess
    progress: Callable[[Progress], None] = lambda _: None
    past: Past = field(default_factory=Past)
    now: Callable[[], float] = time.perf_counter


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """How a sweep ended.

    Attributes:
        rounds: Complete rounds.
        ended: What ended it: intervals that are narrow `enough`, all `rounds`, the `budget`, or
            that `nothing` could run.
        width: The widest 95 % interval of an exponent at the long end; None if one has none.
        skipped: Cells that could not run, and why.
    """

    rounds: int
    ended: Ended
    width: float | None
    skipped: tuple[str, ...]


USUAL: Final = Setup()


def sweep(
    subjects: Sequence[Subject],
    plan: Plan,
    *,
    clock: Clock,
    record: Record,
    setup: Setup = USUAL,
) -> Outcome:
    """Measure every subject in every case.

    Each row goes to `record` as soon as it is known, so an interrupted sweep keeps them all. A
    cell that cannot run becomes a row and is left out. PyTorch has the threads of a case
    while it runs, and those of before at the end.

    Args:
        subjects: What to measure, with names that differ.
        plan: In which cases, and how often.
        clock: What times a call.
        record: Takes one row of the store.
        setup: Where cells run, and who is told.

    Raises:
        ShapeError: If there is no subject, or two have one name.
    """
    check_names(subjects)
    start = setup.now() - setup.past.seconds
    with setup.runner(clock) as runner:
        visits = Visits(runner, record, setup.progress, setup.past)

        def left() -> float:
            return math.inf if plan.budget is None else start + plan.budget - setup.now()

        for case in plan.cases():
            for subject in subjects:
                visits.prepare(subject, case, left=left(), budget=plan.budget)
        while (ended := _ended(visits.times, visits.live, plan, left())) is None:
            rounds = visits.finished()
            visits.round(rounds, plan, _affordable(visits, plan, left()))
    return Outcome(visits.finished(), ended, visits.width(), tuple(visits.skipped))


def check_names(subjects: Sequence[Subject]) -> None:
    """Refuse subjects that could not be told apart.

    Raises:
        ShapeError: If there is no subject, or two have one name.
    """
    names = [subject.name for subject in subjects]
    if not names or len(set(names)) < len(names):
        raise ShapeError(f"subjects must be one or more, with names that differ, got {names}.")


def finished(subjects: Sequence[Subject], plan: Plan, past: Past) -> Outcome | None:
    """Return how a sweep ended of which a run holds all; None if some of it is still to do.

    Args:
        subjects: What was measured.
        plan: In which cases, and how often.
        past: What the run holds.
    """
    planned = [(subject.name, case) for case in plan.cases() for subject in subjects]
    live = [cell for cell in planned if cell not in past.skipped]
    if not past.known().keys() >= set(live):
        return None
    times, left = Times.of(past), math.inf if plan.budget is None else plan.budget - past.seconds
    if (ended := _ended(times, live, plan, left)) is None:
        return None
    skipped = tuple(row.note for row in past.skipped.values())
    return Outcome(times.finished(live), ended, times.width(live), skipped)


def _ended(times: Times, live: Collection[Key], plan: Plan, left: float) -> Ended | None:
    """Return what ends a sweep now, if anything does."""
    rounds = times.finished(live)
    if not live:
        return "nothing"
    # A round that was begun before the process was stopped is ended first.
    if times.begun(live, rounds):
        return None
    width = None if plan.enough is None else times.width(live)
    if plan.enough is not None and width is not None and width <= plan.enough:
        return "enough"
    if rounds >= plan.rounds:
        return "rounds"
    return "budget" if rounds >= FEWEST_ROUNDS and left <= 0 else None


def _affordable(visits: Visits, plan: Plan, left: float) -> int:
    """Return how many rounds there will be if each takes what the warm-up says."""
    finished, expected = visits.finished(), visits.expected
    if left >= expected * (plan.rounds - finished):
        return plan.rounds
    # The one that begins now is made, also if no time is left, or none is expected to pass.
    more = max(1, math.ceil(left / expected)) if expected else 1
    return min(plan.rounds, max(FEWEST_ROUNDS, finished + more))
