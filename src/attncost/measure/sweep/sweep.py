"""A sweep: every subject at every length, in rounds that visit all of them in random order.

A machine that is slow for a while slows cells of every length, so ratios and exponents survive
it. A timing is never taken under a profiler: memory is measured by a call of its own. What drifts
over minutes, such as a laptop that heats up, is not undone.
"""

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, final

import torch

from attncost.core.errors import ShapeError
from attncost.measure.clocks.clock import Clock
from attncost.measure.sweep.case import Case
from attncost.measure.sweep.cell import Cell, Record, lack_of_memory, ready, sample
from attncost.measure.sweep.subject import Subject

THREADS: Final = 1
_FEWEST_ROUNDS: Final = 2
_LONGEST: Final = 1 << 24  # tokens; formulas walk over blocks of them


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What to visit, and how often.

    Attributes:
        lengths: Tokens of a sequence, positive and strictly increasing.
        rounds: How often each cell is sampled.
        seed: Of the order of cells.
        budget: Seconds after which no further round begins, though always the second; or None.
    """

    lengths: tuple[int, ...]
    rounds: int = 9
    seed: int = 0
    budget: float | None = None

    def __post_init__(self) -> None:
        n = self.lengths
        if not n or n[0] < 1 or any(a >= b for a, b in pairwise(n)) or n[-1] > _LONGEST:
            raise ShapeError(
                "lengths must be positive and strictly increasing, as in 64,128,256, and at most "
                f"{_LONGEST:,}, got {','.join(map(str, n)) or 'none'}."
            )
        if self.rounds < 1:
            raise ShapeError(f"rounds must be at least 1, got {self.rounds}.")
        if self.budget is not None and not self.budget > 0:
            raise ShapeError(f"budget must be a positive number of seconds, got {self.budget}.")


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
class Outcome:
    """How a sweep ended.

    Attributes:
        rounds: Complete rounds.
        spent: Whether the budget ended it before the last round that was planned.
        skipped: Cells that could not run, and why.
    """

    rounds: int
    spent: bool
    skipped: tuple[str, ...]


def sweep(
    subjects: Sequence[Subject],
    plan: Plan,
    *,
    clock: Clock,
    record: Record,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Outcome:
    """Measure every subject at every length.

    Each row goes to `record` as soon as it is known, so an interrupted sweep keeps them all. A
    cell without enough memory becomes a row and is left out. PyTorch is held to one thread of the
    CPU until the end.

    Args:
        subjects: What to measure, with names that differ.
        plan: At which lengths, and how often.
        clock: What times a call.
        record: Takes one row of the store.
        progress: Is told what is done next.

    Raises:
        ShapeError: If there is no subject, or two have one name.
    """
    check_names(subjects)
    visits = _Visits(clock, record, progress)
    start, order, rounds, left = time.perf_counter(), random.Random(plan.seed), 0, math.inf
    with _few_threads(), torch.inference_mode():
        # The first vector mathematics of a process is racy in torch 2.13; let it be this.
        torch.ones(1 << 14).exp().log()
        for length in plan.lengths:
            for subject in subjects:
                visits.prepare(subject, Case(length=length, device=clock.device))
        while visits.cells and rounds < plan.rounds:
            if plan.budget is not None:
                left = start + plan.budget - time.perf_counter()
            if rounds >= _FEWEST_ROUNDS and left <= 0:
                break
            order.shuffle(visits.cells)
            visits.round(rounds, _affordable(visits.cells, plan.rounds, rounds, left))
            rounds += 1
    return Outcome(rounds, bool(visits.cells) and rounds < plan.rounds, tuple(visits.skipped))


def check_names(subjects: Sequence[Subject]) -> None:
    """Refuse subjects that could not be told apart.

    Raises:
        ShapeError: If there is no subject, or two have one name.
    """
    names = [subject.name for subject in subjects]
    if not names or len(set(names)) < len(names):
        raise ShapeError(f"subjects must be one or more, with names that differ, got {names}.")


@final
class _Visits:
    """The cells of one sweep that can run, and what happens to all of them."""

    __slots__ = ("_clock", "_progress", "_record", "cells", "skipped")

    def __init__(self, clock: Clock, record: Record, progress: Callable[[Progress], None]) -> None:
        self._clock, self._record, self._progress = clock, record, progress
        self.cells: list[Cell] = []
        self.skipped: list[str] = []

    def prepare(self, subject: Subject, case: Case) -> None:
        """Make a cell ready, or skip it."""
        self._progress(Progress(f"warming up: {subject.name} at {case.length:,}"))
        with self._skipping(subject, case.length):
            self.cells.append(ready(subject, case, clock=self._clock, record=self._record))

    def round(self, number: int, rounds: int) -> None:
        """Sample every cell once, in the order in which they stand; some may be skipped."""
        expected = sum(cell.seconds for cell in self.cells)
        done, kept = number * expected, []
        for cell in self.cells:
            doing = f"round {number + 1} of {rounds}: {cell.subject.name} at {cell.case.length:,}"
            self._progress(Progress(doing, done, rounds * expected))
            with self._skipping(cell.subject, cell.case.length):
                self._record(sample(cell, number, clock=self._clock))
                kept.append(cell)
            done += cell.seconds
        self.cells = kept

    @contextmanager
    def _skipping(self, subject: Subject, length: int) -> Iterator[None]:
        try:
            yield
        except (MemoryError, RuntimeError) as error:
            reason = lack_of_memory(error)
            if reason is None:
                raise
            row = {"subject": subject.name, "labels": dict(subject.labels), "length": length}
            self._record({"kind": "skipped", **row, "reason": reason})
            self.skipped.append(f"{subject.name} at {length:,}: {reason}")


def _affordable(cells: Sequence[Cell], planned: int, finished: int, left: float) -> int:
    """Return how many rounds there will be if each takes what the warm-up says."""
    expected = sum(cell.seconds for cell in cells)
    if left >= expected * (planned - finished):
        return planned
    return min(planned, max(_FEWEST_ROUNDS, finished + math.ceil(left / expected)))


@contextmanager
def _few_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    try:
        yield
    finally:
        torch.set_num_threads(before)
