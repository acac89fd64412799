from benchmarks.cells import Cell, Found
from benchmarks.owed import LIMITS, always, best_peers, limits, memory, verdicts

from attncost.measure.sweep.interleaved import Ratio

CELL = Cell("float32", False, 8192)


def found(**ratios):
    made = {
        name: Ratio(figure, figure - 0.01, figure + 0.01, rounds)
        for name, (figure, rounds) in ratios.items()
    }
    return Found(seconds=1.0, ratios=made)


def test_the_limits_are_those_that_were_promised():
    assert {(str(limit), limit.most) for limit in LIMITS} >= {
        ("window / causal SDPA, forward, 16,384", 0.15),
        ("window / causal SDPA, forward + backward, 2,048", 0.65),
        ("fixed / causal SDPA, forward, 8,192", 0.35),
        ("documents / padded SDPA, forward + backward, 8,192", 0.25),
    }
    assert set(always(CELL)) == {
        ("window", "causal"),
        ("strided", "causal"),
        ("fixed", "causal"),
        ("documents", "padded"),
    }


def test_a_limit_needs_fifteen_rounds_or_was_not_measured():
    results = {CELL: {"window": found(causal=(0.22, 15)), "fixed": found(causal=(0.9, 14))}}
    promises, absent = limits(results)
    assert [(one.figure, one.limit, one.met) for one in promises] == [(0.22, 0.20, False)]
    assert "fixed / causal SDPA, forward, 8,192" in absent
    assert len(absent) == len(LIMITS) - 1


def test_every_cell_that_loses_to_its_best_peer_is_named_and_otherwise_the_worst():
    slow = {"window": found(**{"+mask": (0.5, 15), "local": (1.2, 15)})}
    fair = {"window": found(**{"+mask": (1.04, 15)})}
    short = {"window": found(**{"+mask": (1.2, 15)})}
    lengths = (512, 1024, 2048, 4096)
    cells = [Cell("float32", False, n) for n in lengths]
    promises, absent = best_peers(dict(zip(cells, (short, slow, fair, slow), strict=True)))
    assert not absent
    assert sorted((one.name.split(", ", 1)[1], one.met) for one in promises) == [
        ("forward, float32, 1,024 (local)", False),
        ("forward, float32, 4,096 (local)", False),
        ("forward, float32, 512 (+mask)", True),
    ]


def test_a_few_rounds_are_enough_to_be_ahead_and_not_to_be_behind():
    ahead, behind = found(local=(0.4, 3)), found(local=(1.4, 3))
    promises, absent = best_peers({CELL: {"window": ahead, "fixed": behind}})
    assert [one.met for one in promises] == [True]
    assert absent == ["fixed / best peer, forward, float32, 8,192"]


def test_memory_is_judged_by_the_middle_of_its_processes():
    promises, absent = memory({(False, "attncost"): [(90.0, 1.0), (70.0, 1.0), (75.0, 1.0)]})
    assert [(one.figure, one.low, one.high, one.met) for one in promises] == [(75, 70, 90, True)]
    assert absent == ["window, extra MiB, forward + backward, 8,192"]


def test_nothing_that_was_promised_is_silently_left_out():
    promises, absent = verdicts({}, {})
    assert not promises
    assert len(absent) == len(LIMITS) + 2
