"""A clock that a test sets, and subjects that take their time by it."""

from typing import final

import torch

from attncost.measure.clocks.interface import Clock
from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.subject import Subject
from attncost.measure.sweep.sweep import Setup, sweep


@final
class Simulated(Clock):
    """Time passes in what is called and nowhere else."""

    name = "simulated time"
    reason = "the test knows the answer"
    device = "cpu"

    def __init__(self):
        self.now = 0.0

    def elapsed(self, call, repeats):
        start = self.now
        for _ in range(repeats):
            call()
        return self.now - start


def subject(clock, name="square", *, seconds=lambda n: n * n / 2**20, allocate=lambda _: 0):
    """Take so many seconds of a simulated clock, and so many elements of memory."""

    def prepare(case):
        def call():
            clock.now += seconds(case.length)
            torch.empty(allocate(case.length))

        return call

    return Subject(
        name=name,
        labels={"attention": name},
        prepare=prepare,
        predict=lambda case: Predicted(linear=8 * case.length, core=4 * case.length**2),
    )


def rows_of(subjects, plan, clock, **wishes):
    rows, setup = [], Setup(now=lambda: clock.now if hasattr(clock, "now") else 0.0, **wishes)
    outcome = sweep(subjects, plan, clock=clock, record=rows.append, setup=setup)
    return rows, outcome
