import math
import time
from itertools import pairwise
from typing import final

import pytest
import torch

from attncost import ShapeError
from attncost.measure.clocks.clock import Clock, CpuClock
from attncost.measure.laws.predicted import Predicted
from attncost.measure.sweep.subject import Subject
from attncost.measure.sweep.sweep import Plan, sweep


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


@final
class Ticking(Clock):
    """The same, read off a clock that steps sixty-four times a second."""

    name = "simulated ticks"
    reason = "some systems count the time of a process like this"
    device = "cpu"
    resolution = 1 / 64

    def __init__(self):
        self.now = 0.0

    def elapsed(self, call, repeats):
        start = math.floor(64 * self.now)
        for _ in range(repeats):
            call()
        return (math.floor(64 * self.now) - start) / 64


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
    rows = []
    outcome = sweep(subjects, plan, clock=clock, record=rows.append, **wishes)
    return rows, outcome


def test_every_cell_is_sampled_once_a_round_with_its_time_memory_and_formula():
    clock = Simulated()
    one = subject(clock, allocate=lambda n: 10 * n)
    two = subject(clock, "line", seconds=lambda n: 1e-3 * n)
    rows, outcome = rows_of([one, two], Plan(lengths=(8, 64), rounds=3), clock)
    samples = [row for row in rows if not row["warmup"]]
    visited = sorted((row["round"], row["subject"], row["length"]) for row in samples)
    assert visited == [(r, s, n) for r in range(3) for s in ("line", "square") for n in (8, 64)]
    for row in samples:
        n, square = row["length"], row["subject"] == "square"
        assert row["seconds"] == pytest.approx(n * n / 2**20 if square else 1e-3 * n)
        assert row["peak_bytes"] == (40 * n if square else 0)
        assert (row["linear_flops"], row["core_flops"]) == (8 * n, 4 * n * n)
        assert (row["kind"], row["batch"], row["dtype"]) == ("sample", 1, "float32")
        assert row["labels"] == {"attention": row["subject"]}
    assert (outcome.rounds, outcome.spent, outcome.skipped) == (3, False, ())


def test_a_sample_lasts_ten_milliseconds_and_what_was_tried_before_is_flagged():
    clock = Simulated()
    plan = Plan(lengths=(8, 1024), rounds=2)
    rows, _ = rows_of([subject(clock)], plan, clock)
    for row in rows:
        lasted = row["repeats"] * row["seconds"]
        assert row["warmup"] or lasted >= 0.010
        assert row["seconds"] * (row["repeats"] - 1) < 0.010, "no more than it takes"
    assert {row["length"]: row["repeats"] for row in rows if not row["warmup"]} == {
        8: 164,
        1024: 1,
    }
    assert [row["repeats"] for row in rows if row["warmup"] and row["length"] == 8] == [1, 164]


@pytest.mark.parametrize("seconds", [3e-4, 2e-3, 0.02, 3.0])
def test_a_sample_lasts_so_many_ticks_that_a_tick_is_no_more_than_a_hundredth(seconds):
    clock = Ticking()
    plan = Plan(lengths=(1,), rounds=5)
    rows, _ = rows_of([subject(clock, seconds=lambda _: seconds)], plan, clock)
    samples = [row for row in rows if not row["warmup"]]
    for row in samples:
        assert row["seconds"] == pytest.approx(seconds, rel=0.01)
        assert row["repeats"] == 1 or row["repeats"] * seconds < 4


def test_the_real_clock_takes_no_step_smaller_than_it_says():
    seen = [time.process_time() for _ in range(10_000)]
    assert 0 < CpuClock.resolution <= min(b - a for a, b in pairwise(seen) if b > a)


def test_a_clock_too_coarse_to_see_a_call_ends_the_search():
    clock = Simulated()
    rows, _ = rows_of([subject(clock, seconds=lambda _: 0.0)], Plan(lengths=(1,), rounds=1), clock)
    assert [row["repeats"] for row in rows] == [1, 10, 100, 1000, 1000]


def test_the_order_is_random_differs_between_rounds_and_depends_on_the_seed_alone():
    def orders(seed):
        clock = Simulated()
        plan = Plan(lengths=tuple(range(1, 9)), rounds=3, seed=seed)
        rows, _ = rows_of([subject(clock)], plan, clock)
        return [
            [row["length"] for row in rows if row["round"] == r and not row["warmup"]]
            for r in range(3)
        ]

    first = orders(0)
    assert len({tuple(order) for order in first}) == 3
    assert first == orders(0) != orders(1)


def test_the_budget_ends_it_after_a_round_but_not_before_the_second():
    clock = Simulated()
    plan = Plan(lengths=(8, 16), rounds=50, budget=1e-9)
    rows, outcome = rows_of([subject(clock)], plan, clock)
    assert (outcome.rounds, outcome.spent) == (2, True)
    assert sum(not row["warmup"] for row in rows) == 4
    assert not rows_of([subject(clock)], Plan(lengths=(8,), rounds=1, budget=1e-9), clock)[1].spent


@pytest.mark.parametrize("where", ["prepare", "call"])
def test_a_cell_without_enough_memory_is_a_row_and_the_others_go_on(where):
    clock = Simulated()
    large = {8: 10, 16: 1 << 50}
    starved = subject(clock, "starved", allocate=large.get)
    if where == "prepare":
        inner = starved.prepare
        starved = Subject(
            name=starved.name,
            labels=starved.labels,
            prepare=lambda case: (torch.empty(large[case.length]), inner(case))[1],
            predict=starved.predict,
        )
    rows, outcome = rows_of([starved, subject(clock)], Plan(lengths=(8, 16), rounds=2), clock)
    (skipped,) = [row for row in rows if row["kind"] == "skipped"]
    assert (skipped["subject"], skipped["length"]) == ("starved", 16)
    assert "out of memory: can't allocate memory: you tried to allocate" in skipped["reason"]
    assert outcome.skipped == (f"starved at 16: {skipped['reason']}",)
    assert sum(row["kind"] == "sample" and not row["warmup"] for row in rows) == 6


def test_a_cell_that_runs_out_of_memory_later_is_left_out_from_then_on():
    clock = Simulated()

    def starve(length):
        if length == 16 and any(not row.get("warmup", True) for row in rows):
            raise MemoryError
        return 1

    rows = []
    plan = Plan(lengths=(8, 16), rounds=3)
    sweep([subject(clock, allocate=starve)], plan, clock=clock, record=rows.append)
    assert sum(row["kind"] == "skipped" for row in rows) == 1
    assert sum(row["kind"] == "sample" and not row["warmup"] for row in rows) in (3, 4)


def test_any_other_failure_is_not_swallowed():
    clock = Simulated()
    broken = subject(clock, allocate=lambda _: torch.ones(2).view(3).numel())
    with pytest.raises(RuntimeError, match="shape '\\[3\\]' is invalid"):
        rows_of([broken], Plan(lengths=(8,)), clock)


def test_threads_are_one_inside_and_restored_also_after_an_exception():
    clock, seen = Simulated(), []

    def look(_):
        seen.append((torch.get_num_threads(), torch.is_inference_mode_enabled()))
        if len(seen) == 4:
            raise KeyboardInterrupt
        return 1

    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyboardInterrupt):
            rows_of([subject(clock, allocate=look)], Plan(lengths=(8,)), clock)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    assert set(seen) == {(1, True)}


def test_what_was_measured_before_an_interruption_was_handed_over():
    clock, rows = Simulated(), []

    def record(row):
        rows.append(row)
        if sum(not row["warmup"] for row in rows) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep([subject(clock)], Plan(lengths=(8, 16), rounds=9), clock=clock, record=record)
    assert [row["round"] for row in rows if not row["warmup"]] == [0, 0, 1, 1, 2]


def test_progress_grows_to_what_was_announced():
    clock, seen = Simulated(), []
    plan = Plan(lengths=(128, 256), rounds=2)
    rows_of([subject(clock)], plan, clock, progress=seen.append)
    assert [step.doing for step in seen[:2]] == [
        "warming up: square at 128",
        "warming up: square at 256",
    ]
    assert seen[2].doing.startswith("round 1 of 2: square at ")
    assert [step.total for step in seen] == [None, None, *[10 / 64] * 4]
    done = [step.done for step in seen[2:]]
    assert done == sorted(done)
    assert done[0] == 0
    assert done[2] == 5 / 64


def test_progress_announces_the_rounds_that_the_budget_allows():
    clock, seen = Simulated(), []
    hour = subject(clock, seconds=lambda _: 3600.0)
    plan = Plan(lengths=(8,), rounds=9, budget=4 * 3600)
    rows_of([hour], plan, clock, progress=seen.append)
    assert [step.doing for step in seen[1:3]] == [
        "round 1 of 4: square at 8",
        "round 2 of 5: square at 8",
    ]


@pytest.mark.parametrize(
    ("wishes", "reason"),
    [
        ({"lengths": ()}, "lengths must be positive and strictly increasing, .* got none"),
        ({"lengths": (0, 8)}, "got 0,8"),
        ({"lengths": (8, 8)}, "got 8,8"),
        ({"lengths": (16, 8)}, "got 16,8"),
        ({"lengths": (8,), "rounds": 0}, "rounds must be at least 1, got 0"),
        ({"lengths": (8,), "budget": 0.0}, "budget must be a positive number of seconds, got 0"),
        ({"lengths": (8,), "budget": float("nan")}, "got nan"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(wishes, reason):
    with pytest.raises(ShapeError, match=reason):
        Plan(**wishes)


def test_subjects_must_be_there_and_have_names_that_differ():
    clock = Simulated()
    for subjects in ([], [subject(clock), subject(clock)]):
        with pytest.raises(ShapeError, match="subjects must be one or more, with names"):
            rows_of(subjects, Plan(lengths=(8,)), clock)


def test_the_real_clock_sees_more_work_take_longer():
    def prepare(case):
        x = torch.randn(case.length, case.length)
        return lambda: x @ x

    product = Subject(
        name="product",
        labels={},
        prepare=prepare,
        predict=lambda case: Predicted(linear=0, core=case.length),
    )
    rows, _ = rows_of([product], Plan(lengths=(32, 512), rounds=3), CpuClock())
    shortest = {n: min(row["seconds"] for row in rows if row["length"] == n) for n in (32, 512)}
    assert shortest[512] > 10 * shortest[32], "4096 times the FLOPs"
    assert all(row["peak_bytes"] == 4 * row["length"] ** 2 for row in rows)
