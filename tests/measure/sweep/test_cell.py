import math
import time
from itertools import pairwise
from typing import final

import pytest
import torch
from tests.measure.sweep.simulated import Simulated, rows_of, subject

from attncost import ShapeError
from attncost.measure.clocks.clock import CpuClock
from attncost.measure.clocks.interface import Clock
from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.subject import Subject
from attncost.measure.sweep.plan import Plan


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


def test_a_sample_lasts_ten_milliseconds_and_what_was_tried_before_is_flagged():
    clock = Simulated()
    # Far longer than the machine itself takes for it, which passes on the wall.
    plan = Plan(lengths=(56, 1024), rounds=2)
    rows, _ = rows_of([subject(clock)], plan, clock)
    for row in rows:
        lasted = row["repeats"] * row["seconds"]
        assert row["warmup"] or lasted >= 0.010
        assert row["seconds"] * (row["repeats"] - 1) < 0.010, "no more than it takes"
    assert {row["length"]: row["repeats"] for row in rows if not row["warmup"]} == {
        56: 4,
        1024: 1,
    }
    tried = [row["repeats"] for row in rows if row["warmup"] and row["length"] == 56]
    assert (tried[0], tried[-1]) == (1, 4)


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
    repeats = [row["repeats"] for row in rows]
    assert repeats == [*(10**i for i in range(len(repeats) - 1)), repeats[-2]]
    assert 100 <= repeats[-1] <= 10_000


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


def test_each_case_runs_with_its_threads_and_trains_with_gradients():
    clock, seen = Simulated(), {}

    def prepare(case):
        def call():
            clock.now += 1.0
            state = (torch.get_num_threads(), torch.is_grad_enabled())
            seen.setdefault((case.threads, case.mode), set()).add(state)

        return call

    told = Subject(name="told", labels={}, prepare=prepare, predict=subject(clock).predict)
    plan = Plan(lengths=(8, 16), threads=(1, 3), modes=("forward", "training", "decode"), rounds=3)
    rows, _ = rows_of([told], plan, clock)
    assert seen == {
        (threads, mode): {(threads, mode == "training")}
        for threads in (1, 3)
        for mode in ("forward", "training", "decode")
    }
    assert torch.get_num_threads() == 1
    assert len({(row["threads"], row["mode"], row["length"]) for row in rows}) == 12


def test_what_is_prepared_for_inference_can_be_trained():
    clock, weight = Simulated(), []

    def prepare(case):
        if not weight:
            weight.append(torch.ones(2, requires_grad=True))

        def call():
            clock.now += 1.0
            if case.mode == "training":
                (weight[0] * weight[0]).sum().backward()

        return call

    shared = Subject(name="shared", labels={}, prepare=prepare, predict=subject(clock).predict)
    plan = Plan(lengths=(8,), modes=("forward", "training"), rounds=1)
    rows_of([shared], plan, clock)
    assert weight[0].grad is not None


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


def test_a_case_is_not_timed_by_the_clock_of_another_device():
    clock = Simulated()
    with pytest.raises(ShapeError, match="a case on cuda needs its clock, got that of cpu"):
        rows_of([subject(clock)], Plan(lengths=(8,), device="cuda"), clock)
