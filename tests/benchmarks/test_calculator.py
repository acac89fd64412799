import random

import pytest
from benchmarks.calculated import computed, state
from benchmarks.calculator import promises
from benchmarks.in_browser import Opened

from attncost.cost.planning import Rates, Situation, needs, speed
from attncost.cost.planning.needs import total
from attncost.cost.reading import preset
from attncost.report.calculator.exported import exported


@pytest.mark.parametrize(
    ("change", "missed"),
    [
        ({}, ()),
        ({"bytes": 100_001}, ("kB",)),
        ({"seconds": None}, ("s to load",)),
        ({"errors": 1}, ("requests and errors",)),
        ({"found": {"moves": {"length": [0.01] * 18 + [0.06] * 2}, "differing": 0}}, ("move",)),
        ({"found": {"moves": {"length": [0.01] * 20}, "differing": 1}}, ("differ",)),
    ],
    ids=["kept", "too large", "never ready", "complains", "slow", "differs"],
)
def test_a_page_is_held_to_its_promises(change, missed):
    page = {"bytes": 96_000, "seconds": 0.5, "heap": 1, "shown": 4, "requests": 0, "errors": 0}
    page |= {"found": {"moves": {"length": [0.02] * 19 + [0.3]}, "differing": 0}} | change
    broken = [one.name for one in promises([Opened(**page)] * 3) if not one.met]
    assert len(broken) == len(missed)
    assert all(any(word in name for name in broken) for word in missed)


def test_what_a_page_is_compared_with_is_what_a_plan_says():
    start = exported()["start"] | {"device": "own", "peak": 10**15, "bandwidth": 3 * 10**12}
    model, how = preset("llama-3-8b"), Situation()
    flops, held, seconds = computed(start)
    assert flops == model.prompt(8192).useful
    assert held == total(needs(model, how, length=8192))
    rates = Rates(flops=1e15, bytes=3e12, source="here")
    assert seconds == speed(model, how, rates, length=8192).seconds


def test_random_settings_are_ones_that_can_be():
    drawn = random.Random(0)
    found = [state(drawn, exported()["start"]) for _ in range(100)]
    assert all(one["heads"] % one["kv_heads"] == 0 for one in found)
    assert len({one["attention"] for one in found}) > 5
    assert {one["work"] for one in found} == {"prefill", "decode", "training"}
