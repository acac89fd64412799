from dataclasses import replace

import pytest
import torch
from tests.measure.sweep.simulated import Simulated, rows_of, subject

from attncost import ShapeError, UnsupportedOption
from attncost.measure.subjects.subject import Subject
from attncost.measure.sweep.plan import Plan
from attncost.measure.sweep.sweep import sweep


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
    assert (outcome.rounds, outcome.ended, outcome.skipped) == (3, "rounds", ())


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
    assert outcome.skipped == (f"starved at 16 (memory): {skipped['reason']}",)
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


def test_what_is_not_supported_is_a_row_and_the_others_go_on():
    clock = Simulated()

    def refuse(case):
        if case.mode == "decode":
            raise UnsupportedOption("not one token at a time.")
        return subject(clock).prepare(case)

    def lack(length):
        if length == 16:
            raise NotImplementedError("'softmax' not implemented for 'Half'")
        return 1

    picky = Subject(name="picky", labels={}, prepare=refuse, predict=subject(clock).predict)
    poor = subject(clock, "poor", allocate=lack)
    plan = Plan(lengths=(8, 16), modes=("forward", "decode"), rounds=1)
    rows, _ = rows_of([picky, poor], plan, clock)
    lost = {
        (row["subject"], row["mode"], row["length"]): row["reason"]
        for row in rows
        if row["kind"] == "skipped"
    }
    assert lost == {
        ("picky", "decode", 8): "not one token at a time.",
        ("picky", "decode", 16): "not one token at a time.",
        ("poor", "forward", 16): "'softmax' not implemented for 'Half'",
        ("poor", "decode", 16): "'softmax' not implemented for 'Half'",
    }
    assert {row.get("cause") for row in rows} == {None, "unsupported"}


@pytest.mark.filterwarnings("ignore:.*Profiler clears events:UserWarning")  # of PyTorch 2.11
def test_a_sweep_inside_a_profiler_is_refused_as_a_whole():
    clock = Simulated()
    with torch.profiler.profile(), pytest.raises(UnsupportedOption, match="profiler"):
        rows_of([subject(clock)], Plan(lengths=(8,)), clock)


@pytest.mark.parametrize("where", ["predict", "prepare", "call", "a later call"])
def test_whatever_the_user_s_code_raises_is_a_row_and_the_others_go_on(where):
    clock = Simulated()
    well, seen = subject(clock, "well"), []

    def fail(length):
        seen.append(length)
        if length == 16 and (where != "a later call" or seen.count(16) > 9):
            raise ValueError("not 16\nsecond line")
        return 1

    ill = Subject(
        name="ill",
        labels={},
        prepare=subject(clock, allocate=fail).prepare,
        predict=well.predict,
    )
    if where in ("predict", "prepare"):
        inner = getattr(ill, where)
        ill = replace(ill, **{where: lambda case: (fail(case.length), inner(case))[1]})
    rows, outcome = rows_of([ill, well], Plan(lengths=(8, 16), rounds=20), clock)
    (lost,) = [row for row in rows if row["kind"] == "skipped"]
    assert (lost["subject"], lost["length"], lost["cause"]) == ("ill", 16, "crash")
    assert lost["reason"] == "ValueError: not 16"
    assert outcome.skipped == ("ill at 16 (crash): ValueError: not 16",)
    assert (outcome.rounds, outcome.ended) == (20, "rounds")


def test_ctrl_c_in_a_call_is_no_row():
    def stop(_):
        raise KeyboardInterrupt

    clock = Simulated()
    with pytest.raises(KeyboardInterrupt):
        rows_of([subject(clock, allocate=stop)], Plan(lengths=(8,)), clock)


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


def test_subjects_must_be_there_and_have_names_that_differ():
    clock = Simulated()
    for subjects in ([], [subject(clock), subject(clock)]):
        with pytest.raises(ShapeError, match="subjects must be one or more, with names"):
            rows_of(subjects, Plan(lengths=(8,)), clock)
