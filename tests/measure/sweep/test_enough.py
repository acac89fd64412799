import random
from dataclasses import replace
from functools import partial

from tests.measure.sweep.simulated import Simulated, rows_of, subject

from attncost.measure.store.sample import SCHEMA, sample_of
from attncost.measure.sweep.past import Past, key
from attncost.measure.sweep.plan import Plan
from attncost.measure.sweep.runner import InProcess


def test_the_budget_ends_it_after_a_round_but_not_before_the_second():
    clock = Simulated()
    hour = subject(clock, seconds=lambda _: 3600.0)
    rows, outcome = rows_of([hour], Plan(lengths=(8,), rounds=50, budget=1), clock)
    assert (outcome.rounds, outcome.ended) == (2, "budget")
    assert sum(not row["warmup"] for row in rows) == 2
    # Warming up takes two calls, so the sixth round begins before, and ends after, 7.5 hours.
    _, outcome = rows_of([hour], Plan(lengths=(8,), rounds=50, budget=7.5 * 3600), clock)
    assert (outcome.rounds, outcome.ended) == (6, "budget")
    _, outcome = rows_of([hour], Plan(lengths=(8,), rounds=1, budget=1), clock)
    assert outcome.ended == "rounds"


def test_a_length_that_would_eat_the_budget_is_skipped_with_its_reason():
    clock = Simulated()
    # One second at 8 tokens, 16 at 16; FLOPs grow by less, so that is what is foreseen.
    slow = subject(clock, seconds=lambda n: (n / 8) ** 4)
    rows, outcome = rows_of([slow], Plan(lengths=(8, 16, 32), rounds=2, budget=60), clock)
    (skipped,) = [row for row in rows if row["kind"] == "skipped"]
    assert (skipped["length"], skipped["cause"]) == (32, "budget")
    assert "a call would take 60.4 s or more, 4 of them are needed" in skipped["reason"]
    assert "the budget has 0 s left for them: --budget allows more" in skipped["reason"]
    assert outcome.skipped == (f"square at 32 (budget): {skipped['reason']}",)
    assert (outcome.rounds, outcome.ended) == (2, "rounds")
    rows, _ = rows_of([slow], Plan(lengths=(8, 16, 32), rounds=2), clock)
    assert {row["length"] for row in rows} == {8, 16, 32}, "without a budget all are measured"


def test_a_first_length_that_no_machine_does_within_the_budget_is_skipped():
    clock = Simulated()
    fast = subject(clock, seconds=lambda _: 0.01)
    # 8 n + 4 n² FLOPs: 281 of them a call at a million million a second, if n is the longest.
    plan = Plan(lengths=(1 << 23,), rounds=2, budget=1000)
    rows, outcome = rows_of([fast], plan, clock)
    (skipped,) = rows
    assert (skipped["cause"], outcome.ended) == ("budget", "nothing")
    assert "a call would take 281 s or more, 4 of them are needed" in skipped["reason"]
    for affordable in ({"budget": 1200}, {"budget": None}, {"threads": (4,)}):
        assert rows_of([fast], replace(plan, **affordable), clock)[1].ended == "rounds"
    narrow = replace(plan, dtypes=("bfloat16",))
    assert rows_of([fast], narrow, clock)[1].ended == "rounds"


def test_a_case_that_will_not_fit_is_skipped_by_what_shorter_ones_held():
    clock, asked = Simulated(), []

    def lack(subject, case, peaks):
        asked.append((subject.name, case.batch, case.length, dict(peaks)))
        return "it would take 1 TiB." if case.length == 32 and case.batch == 2 else None

    plan = Plan(lengths=(8, 16, 32), batches=(1, 2), rounds=1)
    rows, outcome = rows_of(
        [subject(clock, allocate=lambda n: n)], plan, clock, runner=partial(InProcess, lack=lack)
    )
    (skipped,) = [row for row in rows if row["kind"] == "skipped"]
    assert (skipped["length"], skipped["batch"], skipped["cause"]) == (32, 2, "prediction")
    assert outcome.skipped == ("square, batch 2 at 32 (prediction): it would take 1 TiB.",)
    assert asked[-1] == ("square", 2, 32, {8: 32, 16: 64})


def test_a_sweep_of_which_nothing_can_run_ends():
    clock = Simulated()
    runner = partial(InProcess, lack=lambda *_: "it would take 1 TiB.")
    rows, outcome = rows_of([subject(clock)], Plan(lengths=(8,)), clock, runner=runner)
    assert (outcome.rounds, outcome.ended, len(rows)) == (0, "nothing", 1)


def test_narrow_intervals_end_it_and_wide_ones_do_not():
    def noisy(spread):
        clock, draw = Simulated(), random.Random(0)
        line = subject(clock, seconds=lambda n: n / 8 * draw.uniform(1 - spread, 1 + spread))
        plan = Plan(lengths=(8, 64, 128, 256), rounds=60, enough=0.1)
        return rows_of([line], plan, clock)[1]

    still, calm, wild = noisy(0.0), noisy(0.05), noisy(0.5)
    assert (still.rounds, still.ended, still.width) == (6, "enough", 0)
    assert calm.ended == "enough"
    assert 6 <= calm.rounds < 30
    assert 0 < calm.width <= 0.1
    assert (wild.rounds, wild.ended) == (60, "rounds")
    assert wild.width > 0.1


def test_progress_announces_the_rounds_that_the_budget_allows():
    clock, seen = Simulated(), []
    hour = subject(clock, seconds=lambda _: 3600.0)
    plan = Plan(lengths=(8,), rounds=9, budget=4 * 3600)
    rows_of([hour], plan, clock, progress=seen.append)
    assert [step.doing for step in seen] == [
        "warming up: square at 8",
        "round 1 of 2: square at 8",
        "round 2 of 2: square at 8",
    ], "two hours of four went into warming up"


def test_a_round_that_is_gone_on_with_after_the_budget_is_one_of_those_announced():
    clock, seen = Simulated(), []
    plan = Plan(lengths=(8, 16), rounds=9, budget=1.0)
    rows, _ = rows_of([subject(clock)], replace(plan, rounds=3, budget=None), clock)
    samples = [sample_of(row, SCHEMA) for row in rows if not row["warmup"]]
    past = Past(tuple((key(one), one) for one in samples[:-1]), {}, 1000.0)
    _, outcome = rows_of([subject(clock)], plan, clock, past=past, progress=seen.append)
    assert [step.doing.partition(":")[0] for step in seen[2:]] == ["round 3 of 3"]
    assert (outcome.rounds, outcome.ended) == (3, "budget")


def test_calls_that_take_no_time_at_all_end_with_their_rounds():
    clock, seen = Simulated(), []
    nothing = subject(clock, seconds=lambda _: 0.0)
    _, outcome = rows_of(
        [nothing], Plan(lengths=(8,), rounds=3, budget=1), clock, progress=seen.append
    )
    assert outcome.rounds == 3
