import random
import signal
import subprocess
import sys

import pytest
from tests.measure.sweep.faults import Faults
from tests.measure.sweep.going_on import PLAN, go_on

from attncost.core.errors import ShapeError
from attncost.measure.clocks.clock import CpuClock
from attncost.measure.store.reading import rows
from attncost.measure.store.store import Run
from attncost.measure.sweep.isolated import Limits
from attncost.measure.sweep.past import Past
from attncost.measure.sweep.plan import Plan
from attncost.measure.sweep.sweep import Setup, sweep
from attncost.measure.sweep.task import Named, Task

# Begins a run, or goes on with it.
SCRIPT = """
import sys
from pathlib import Path

from tests.measure.sweep.going_on import go_on

go_on(Path(sys.argv[1]), kill_after=int(sys.argv[2]))
"""


def visits(path):
    return [(one.round, *key) for key, one in Past.of(rows(path)).samples]


def test_a_run_that_is_killed_again_and_again_has_each_sample_once_in_the_same_order(tmp_path):
    chance = random.Random(0)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    go_on(whole)
    expected = visits(whole)
    assert len(expected) == len(set(expected)) == 2 * 2 * 2 * 5
    for fewest in (28, 12):
        rows_more = str(fewest + chance.randrange(6))
        killed = subprocess.run([sys.executable, "-c", SCRIPT, broken, rows_more], check=False)
        assert killed.returncode == -signal.SIGKILL
    assert 0 < len(visits(broken)) < len(expected)
    outcome = go_on(broken)
    assert visits(broken) == expected
    assert (outcome.rounds, outcome.ended) == (5, "rounds")
    repeats = {(key, one.repeats, one.peak_bytes) for key, one in Past.of(rows(broken)).samples}
    assert len(repeats) == 2 * 2 * 2, "what was found out once is not found out again"


def test_a_run_that_is_complete_gets_no_further_sample(tmp_path):
    go_on(tmp_path / "run")
    before = visits(tmp_path / "run")
    assert go_on(tmp_path / "run").ended == "rounds"
    assert visits(tmp_path / "run") == before


def test_the_time_that_was_spent_before_counts_against_the_budget(tmp_path):
    plan = Plan(lengths=(8,), rounds=50, budget=1000.0)
    run = Run.create(tmp_path / "run", {})
    subjects = Faults(("one",))()
    sweep(subjects, Plan(lengths=(8,), rounds=3), clock=CpuClock(), record=run.append)
    past = Past.of(rows(run.path))
    timed = [one.repeats * one.wall_seconds for one in rows(run.path).samples]
    assert past.seconds == pytest.approx(sum(timed))
    assert len(timed) > 3, "the warm-up, too"
    spent = Past(past.samples, past.skipped, 1000.0)
    setup = Setup(past=spent, now=lambda: 0.0)
    outcome = sweep(subjects, plan, clock=CpuClock(), record=run.append, setup=setup)
    assert (outcome.rounds, outcome.ended) == (3, "budget")


def test_a_cell_that_was_skipped_stays_so(tmp_path):
    run = Run.create(tmp_path / "run", {})
    lost = {"subject": "one", "length": 16, "batch": 2, "reason": "too large."}
    run.append({"kind": "skipped", **lost})
    outcome = go_on(run.path)
    assert outcome.skipped == ("one, batch 2 at 16: too large.",)
    assert len(visits(run.path)) == 7 * 5
    assert len(rows(run.path).skipped) == 1


def test_a_task_survives_its_row():
    named = Named(model="demo", attentions=("full", "naive"))
    for limits in (None, Limits(), Limits(memory=5, deadline=0.5)):
        task = Task(named=named, plan=PLAN, limits=limits)
        assert Task.of({"torch": "2", **task.written()}) == task


@pytest.mark.parametrize("row", [{}, {"named": {"name": 1}, "plan": {}, "isolate": None}])
def test_a_run_that_does_not_say_what_was_asked_for_is_not_gone_on_with(row):
    with pytest.raises(ShapeError, match="cannot be gone on with: measure into a new folder"):
        Task.of(row)
