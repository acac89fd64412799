import json
import random
import signal
import subprocess
import sys
from dataclasses import replace

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
from attncost.measure.sweep.sweep import Setup, finished, sweep
from attncost.measure.sweep.task import Named, Task

# Begins a run, or goes on with it.
SCRIPT = """
import sys
from pathlib import Path

from tests.measure.sweep.going_on import go_on

path, rows, kind = sys.argv[1:]
go_on(Path(path), kill_after=int(rows), of_warmup=kind == "warmup")
"""


def visits(path):
    return [(one.round, *key) for key, one in Past.of(rows(path)).samples]


def test_a_run_that_is_killed_again_and_again_has_each_sample_once_in_the_same_order(tmp_path):
    chance = random.Random(0)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    go_on(whole)
    expected = visits(whole)
    assert len(expected) == len(set(expected)) == 2 * 2 * 2 * 5
    held = 0
    for kind, fewest in (("warmup", 3), ("rounds", 1), ("rounds", 12)):
        more = fewest + chance.randrange(6)
        command = [sys.executable, "-c", SCRIPT, broken, str(more), kind]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        held += more if kind == "rounds" else 0
        assert visits(broken) == expected[:held]
    assert 0 < held < len(expected)
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


def test_what_is_left_of_a_sweep_is_told_from_its_rows_alone(tmp_path):
    run = Run.create(tmp_path / "run", {})
    subjects, plan = Faults(("one", "two"))(), Plan(lengths=(8, 16), rounds=3)

    def told(plan):
        return finished(subjects, plan, Past.of(rows(run.path)))

    assert told(plan) is None, "nothing was measured"
    run.append({"kind": "skipped", "subject": "two", "length": 16, "reason": "too large."})
    # As if the process had been killed after some cells, a part of a round, and a round.
    whole = []
    past = Past.of(rows(run.path))
    outcome = sweep(subjects, plan, clock=CpuClock(), record=whole.append, setup=Setup(past=past))
    for row in whole:
        assert told(plan) is None
        run.append(row)
    assert told(plan) == outcome
    assert (outcome.rounds, outcome.ended) == (3, "rounds")
    assert outcome.skipped == ("two at 16: too large.",)
    assert told(replace(plan, rounds=4)) is None
    assert told(replace(plan, lengths=(8, 16, 32))) is None
    assert told(replace(plan, rounds=4, budget=1e-9)).ended == "budget"
    assert told(replace(plan, lengths=(32,))) is None
    (lost,) = told(replace(plan, lengths=(8,), rounds=3)).skipped
    assert lost == "two at 16: too large."


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
        assert Task.of(json.loads(json.dumps({"torch": "2", **task.written()}))) == task


TASK = Task(named=Named(model="demo"), plan=PLAN, limits=Limits()).written()


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"named": None}, "named must be an object of JSON, got None"),
        (
            {"named": {"model": "demo"}},
            "named.attentions must be a list of texts or null, got none",
        ),
        ({"named": {**TASK["named"], "model": 7}}, "named.model must be a text, got 7"),
        ({"named": {**TASK["named"], "model": None}}, "must be a text, got None"),
        ({"named": {**TASK["named"], "model": ["demo"]}}, r"must be a text, got \['demo'\]"),
        ({"named": {**TASK["named"], "attentions": [1]}}, "must be a list of texts or null, got"),
        ({"named": {**TASK["named"], "kernels": [None]}}, r"of texts or null, got \[None\]"),
        ({"plan": {}}, "plan.lengths must"),
        ({"isolate": {"memory": 0.5, "deadline": None}}, "must be a whole number or null, got 0.5"),
        ({"isolate": {"memory": 0, "deadline": None}}, "memory must be at least 1 byte, got 0"),
    ],
)
def test_a_run_that_does_not_say_what_was_asked_for_is_not_gone_on_with(row, reason):
    with pytest.raises(ShapeError, match=reason) as error:
        Task.of(json.loads(json.dumps({**TASK, **row})))
    assert "so it cannot be gone on with: measure into a new folder" in str(error.value)
    assert "\n" not in str(error.value)
