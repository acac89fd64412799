import pytest
import torch
from benchmarks.in_browser import Opened
from benchmarks.map_pages import promises
from benchmarks.map_statistics import GAUGES, RATIOS, one_head, written_out
from benchmarks.map_statistics import promises as promises_of_time

from attncost.patterns.causal import Causal
from attncost.view.statistics.statistics import statistics


def test_what_is_written_out_are_the_same_statistics():
    q, k, v = one_head(200)
    found = statistics(q, k, v, Causal(), gauges=GAUGES)
    written = written_out(q[0, 0], k[0, 0], v[0, 0])
    # Theirs are sums, ours means over the queries of a block.
    side = -(-200 // GAUGES.map_size)
    rows = torch.tensor([min(side, 200 - start) for start in range(0, 200, side)])
    written["map"] /= rows[:, None]
    for name, expected in written.items():
        got = getattr(found, name)[0, 0]
        torch.testing.assert_close(got, expected.to(got.dtype), atol=2e-5, rtol=1e-4, msg=name)


def test_statistics_are_held_to_attention_and_to_weights_written_out():
    seconds = {"statistics, causal": 0.3, "statistics, full": 0.5, "SDPA, causal": 0.15}
    seconds |= {"SDPA, full": 0.3, "n x n, causal": 6.0}
    samples = {name: dict.fromkeys(range(6), taken) for name, taken in seconds.items()}
    found = promises_of_time(samples)
    assert [round(one.figure, 3) for one in found] == [2.0, 1.667, 0.05]
    assert [one.met for one in found] == [False, True, True]
    assert len(RATIOS) == 3


@pytest.mark.parametrize(
    ("change", "missed"),
    [
        ({}, ()),
        ({"bytes": 5_000_000}, ("MB",)),
        ({"seconds": None}, ("s to load",)),
        ({"requests": 1}, ("requests and errors",)),
        ({"found": {"tiles": [0.04] * 5, "frames": [0.01] * 9 + [0.2] * 3}}, ("tile", "frame")),
    ],
    ids=["kept", "too large", "never ready", "asks others", "slow"],
)
def test_a_page_is_held_to_its_promises(change, missed):
    page = {"bytes": 3_000_000, "seconds": 0.5, "heap": 1, "shown": 3, "requests": 0, "errors": 0}
    page |= {"found": {"tiles": [0.01] * 5, "frames": [0.017] * 20}} | change
    owed = promises("one head", [Opened(**page)] * 3)
    broken = [one.name for one in owed if not one.met]
    assert len(broken) == len(missed)
    assert all(any(word in name for name in broken) for word in missed)
