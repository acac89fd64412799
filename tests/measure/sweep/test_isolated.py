import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest
from tests.measure.sweep.faults import FAULTS, Faults, unmakeable

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.measure.clocks.clock import CpuClock
from attncost.measure.sweep.isolated import MOST_GROUPS, Isolated, Limits, check_groups
from attncost.measure.sweep.plan import Plan
from attncost.measure.sweep.runner import InProcess
from attncost.measure.sweep.sweep import Setup, sweep


def swept(recipe, plan, *, limits=None, subjects=None, record=None):
    rows = []
    setup = Setup(
        runner=lambda clock: Isolated(InProcess(clock), recipe=recipe, limits=limits or Limits())
    )
    outcome = sweep(
        recipe() if subjects is None else subjects,
        plan,
        clock=CpuClock(),
        record=record or rows.append,
        setup=setup,
    )
    return rows, outcome


def visits(rows):
    return [
        (row["round"], row["subject"], row["length"])
        for row in rows
        if row["kind"] == "sample" and not row["warmup"]
    ]


def test_out_of_memory_deadline_and_crash_are_rows_and_all_other_cells_go_on():
    lengths = (8, *FAULTS)
    rows, outcome = swept(
        Faults(("ill", "well")),
        Plan(lengths=lengths, rounds=2),
        limits=Limits(memory=1 << 29, deadline=5.0),
    )
    skipped = [row for row in rows if row["kind"] == "skipped"]
    assert {row["subject"] for row in skipped} == {"ill"}
    assert {row["length"]: (row["cause"], row["reason"]) for row in skipped} == {
        32: (
            "memory",
            "out of memory: can't allocate memory: you tried to allocate 1073741824 bytes. "
            "Error code 12 (Cannot allocate memory)",
        ),
        64: ("deadline", "no answer within 5.00 s."),
        128: ("crash", "KeyError: 'no such key\\nsecond line'"),
        256: ("crash", "its process was killed by SIGABRT."),
    }
    cells = [("ill", 8), *(("well", n) for n in lengths)]
    assert sorted(visits(rows)) == sorted((r, *cell) for r in range(2) for cell in cells)
    assert (outcome.rounds, outcome.ended, len(outcome.skipped)) == (2, "rounds", 4)


def test_a_cell_that_crashes_later_is_lost_and_its_group_goes_on_in_a_fresh_process(tmp_path):
    rows, switch = [], tmp_path / "now"

    def record(row):
        rows.append(row)
        if len(visits(rows)) == 4:
            switch.touch()

    swept(Faults(("ill",), str(switch)), Plan(lengths=(8, 256), rounds=4), record=record)
    (lost,) = [row for row in rows if row["kind"] == "skipped"]
    assert (lost["length"], lost["reason"]) == (256, "its process was killed by SIGABRT.")
    assert [r for r, _, n in visits(rows) if n == 8] == [0, 1, 2, 3]
    assert [r for r, _, n in visits(rows) if n == 256] == [0, 1]
    again = [i for i, row in enumerate(rows) if row["kind"] == "sample" and row["warmup"]][-1]
    assert rows[again]["length"] == 8, "the fresh process warmed up"
    assert len({row["repeats"] for row in rows[again:] if row["kind"] == "sample"}) == 1


def test_what_cannot_be_made_in_its_process_is_a_row_for_each_cell():
    subjects = Faults(("well",))()
    rows, outcome = swept(unmakeable, Plan(lengths=(8, 16)), subjects=subjects)
    assert [row["reason"] for row in rows] == ["ValueError: no weights here"] * 2
    assert outcome.ended == "nothing"


# What a shell starts in the background ignores Ctrl-C, and so would all that it starts.
PARENT = """
import signal
import sys

from tests.measure.sweep.faults import Faults

from attncost.measure.clocks.clock import CpuClock
from attncost.measure.sweep.isolated import Isolated, Limits
from attncost.measure.sweep.runner import InProcess
from attncost.measure.sweep.plan import Plan
from attncost.measure.sweep.sweep import Setup, sweep

recipe = Faults(("ill",))
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    setup = Setup(runner=lambda clock: Isolated(InProcess(clock), recipe=recipe, limits=Limits()))
    record = lambda row: print("row", flush=True)
    sweep(recipe(), Plan(lengths=(8, 64)), clock=CpuClock(), record=record, setup=setup)
"""


def children(process):
    return [
        int(pid)
        for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    ]


def alive(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_processes_end_with_their_parent_also_in_the_middle_of_a_call(end):
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        process.stdout.readline()
        running = children(process)
        # Ctrl-C goes to all processes of a terminal; kill -9 to one.
        (os.killpg if end == signal.SIGINT else os.kill)(process.pid, end)
        _, said = process.communicate()
    assert process.returncode == -end
    assert said.count("Traceback") == (end == signal.SIGINT), "only the parent was interrupted"
    give_up = monotonic() + 30
    while any(map(alive, running)):
        assert monotonic() < give_up
        sleep(0.05)
    assert running


def test_a_process_that_a_killed_one_leaves_behind_is_ended_and_not_waited_for(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    # Without a deadline, whoever waited for the orphan would wait for ten minutes.
    rows, outcome = swept(Faults(("ill",)), Plan(lengths=(8, 512), rounds=2))
    (lost,) = [row for row in rows if row["kind"] == "skipped"]
    assert lost["reason"].startswith("its process was killed by SIGKILL")
    assert (outcome.rounds, visits(rows)) == (2, [(0, "ill", 8), (1, "ill", 8)])
    left, give_up = int((tmp_path / "orphan").read_text()), monotonic() + 30
    while alive(left):
        assert monotonic() < give_up
        sleep(0.05)


def test_limits_make_sense_and_processes_are_not_too_many():
    with pytest.raises(ShapeError, match="memory must be at least 1 byte, got 0"):
        Limits(memory=0)
    with pytest.raises(ShapeError, match="deadline must be a positive number of seconds, got 0"):
        Limits(deadline=0.0)
    check_groups(MOST_GROUPS)
    with pytest.raises(UnsupportedOption, match=f"at most {MOST_GROUPS}, got 33"):
        check_groups(MOST_GROUPS + 1)
