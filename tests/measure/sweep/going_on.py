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


def go_on(path, *, kill_after=None, of_warmup=False):
    """Measure two subjects to the end, or until this process is killed.

    How many rows a warm-up takes depends on how busy the machine is, so rows are counted by kind.

    Args:
        path: Of the run.
        kill_after: The rows, of one kind, after which the process is killed.
        of_warmup: Whether those of the warm-up are counted, or those of the rounds.
    """
    if path.exists():
        run, past = Run.reopen(path), Past.of(rows(path))
        run.append({"kind": "resumed"})
    else:
        run, past = Run.create(path, {}), Past()
    written = 0

    def record(row):
        nonlocal written
        run.append(row)
        written += row.get("warmup") == of_warmup
        if written == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)

    subjects = Faults(("one", "two"))()
    return sweep(subjects, PLAN, clock=CpuClock(), record=record, setup=Setup(past=past))
