"""Every sum is the total: by operator, by module and by kind of work."""

from dataclasses import replace

import pytest
from tests.measure.attribution.spans import STEP, module, span

from attncost.measure.attribution.kinds import ATTENTION, BETWEEN, LINEAR, OTHER
from attncost.measure.attribution.places import ELSEWHERE, ENGINE, OUTSIDE
from attncost.measure.attribution.spans import ROUND
from attncost.measure.attribution.tally import operators_of, tally


def later(spans, by):
    return [replace(one, start=one.start + by, end=one.end + by) for one in spans]


def check_sums(found):
    assert sum(found.kinds.values()) == found.total
    owned = sum(one.own for one in found.modules.values())
    assert owned + sum(found.elsewhere.values()) == found.total
    operators = sum(one.own for one in found.operators.values())
    assert operators + found.kinds[BETWEEN] == found.total


def test_a_step_is_split_without_rest():
    found = tally(STEP)
    assert (found.total, found.rounds) == (1000, 1)
    check_sums(found)
    one, two = found.modules["one"], found.modules["two"]
    assert (one.own, one.backward) == (180 + 190 + 10 + 10, 190 + 10 + 10)
    assert (two.own, two.backward) == (180 + 230, 230)
    assert found.modules[""].own == 390 - 180 - 180
    assert found.modules[""].whole == found.modules[""].own + one.own + two.own
    assert found.elsewhere == {OUTSIDE: 30 + 10, ENGINE: 580 - 10 - 230 - 190 - 10 - 10}
    assert found.kinds[ATTENTION] == 160 + 230
    assert found.kinds[LINEAR] == 150 + 190 + 10
    assert found.kinds[OTHER] == 20 + 10 + 10


def test_own_and_whole_time_of_an_operator_differ_by_what_it_calls():
    linear = tally(STEP).operators["aten::linear", ""]
    assert (linear.calls, linear.own, linear.whole) == (1, 150 - 9 - 120, 150)


def test_a_module_that_calls_itself_counts_its_time_once():
    found = tally([span(ROUND, 0, 100), module("a", 10, 90), module("a", 20, 80)])
    again = found.modules["a"]
    assert (again.calls, again.own, again.whole) == (2, 80, 80)
    nested = tally([span(ROUND, 0, 100), span("mine", 10, 90), span("mine", 20, 80)])
    assert (nested.operators["mine", ""].whole, nested.operators["mine", ""].own) == (80, 80)


def test_other_threads_are_listed_and_part_of_the_total():
    found = tally([span(ROUND, 0, 100), span("aten::mm", 10, 60, thread=2)])
    assert (found.total, found.elsewhere[ELSEWHERE]) == (150, 50)
    check_sums(found)


def test_what_lies_between_rounds_or_in_skipped_ones_counts_nothing():
    between = span("aten::empty", 1100, 1900)
    found = tally([*STEP, between, *later(STEP, 2000)], skipped=1)
    assert (found.total, found.rounds) == (1000, 1)
    check_sums(found)


def test_rounds_that_others_slowed_down_are_left_out():
    slow = [replace(one, end=one.end + 5000) if one.name == ROUND else one for one in STEP]
    rounds = [later(slow if number % 2 else STEP, 10_000 * number) for number in range(8)]
    found = tally([one for spans in rounds for one in spans])
    assert (found.total, found.rounds) == (2 * 1000, 2)
    check_sums(found)


def test_on_a_gpu_the_time_of_kernels_is_split_in_the_same_way():
    spans = [
        span(ROUND, 0, 100),
        module("a", 0, 40),
        span("aten::linear", 1, 30, sequence=1),
        span("aten::addmm", 2, 20, sequence=1, kernels=700),
        module("b", 40, 80),
        span("aten::softmax", 41, 60, sequence=2, kernels=300),
    ]
    found = tally(spans, on_gpu=True)
    assert found.total == 1000
    check_sums(found)
    assert (found.modules["a"].own, found.modules["b"].own) == (700, 300)
    linear = found.operators["aten::linear", ""]
    assert (linear.own, linear.whole) == (0, 700)


@pytest.mark.parametrize("number", [0, 1])
def test_operators_are_counted_by_round_without_ranges_of_ours(number):
    spans = [*STEP, *later(STEP[:4], 2000)]
    counts = operators_of(spans, number)
    assert not any(name.startswith("attncost") for name in counts)
    assert counts.get("aten::linear") == 1
    assert counts.get("aten::addmm", 0) == 1 - number
