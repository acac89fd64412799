"""A run that a process begins, or goes on with."""

import os
import signal

from tests.measure.sweep.faults import Faults

from attncost.measure.clocks.clock import CpuClock
from attncost.measure.store.reading import rows
from attncost.measure.store.store import Run
from attncost.measure.sweep.past import Past
from attncost.measure.sweep.plan import Plan
from attncost.measure.sweep.sweep import Setup, sweep

PLAN = Plan(lengths=(8, 16), batches=(1, 2), rounds=5)


def go_on(path, *, kill_after=None):
    """Measure two subjects to the end, or until this process is killed after so many rows."""
    if path.exists():
        run, past = Run.reopen(path), Past.of(rows(path))
        run.append({"kind": "resumed"})
    else:
        run, past = Run.create(path, {}), Past()
    written = 0

    def record(row):
        nonlocal written
        run.append(row)
        written += 1
        if written == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)

    subjects = Faults(("one", "two"))()
    return sweep(subjects, PLAN, clock=CpuClock(), record=record, setup=Setup(past=past))
