import random
from statistics import median

import pytest

from attncost.measure.store.sample import Sample
from attncost.measure.store.summary import FEWEST, interval, measured


def sample(subject, length, seconds, *, warmup=False, **counted):
    return Sample(
        subject=subject,
        labels={},
        length=length,
        batch=1,
        dtype="float32",
        round=0,
        warmup=warmup,
        repeats=1,
        seconds=seconds,
        wall_seconds=seconds,
        peak_bytes=length,
        linear_flops=1,
        core_flops=1,
        **counted,
    )


def test_cells_of_a_series_are_grouped_by_length_without_warm_up():
    samples = [
        sample("b", 8, 100.0, warmup=True),
        sample("b", 16, 3.0),
        *(sample("b", 8, seconds) for seconds in (1.0, 5.0, 2.0)),
    ]
    found = measured(samples, series="b, batch 4")
    assert [(cell.subject, cell.length) for cell in found] == [
        ("b, batch 4", 8),
        ("b, batch 4", 16),
    ]
    first = found[0]
    assert (first.seconds, first.low, first.high) == (2.0, 1.0, 5.0)
    assert (first.rounds, first.peak_bytes) == (3, 8)
    assert measured([], series="b") == measured(samples[:1], series="b") == ()


def test_what_the_system_counted_is_summed_up_by_medians():
    counted = [(0.5, 10.0, 0.0), (1.0, 30.0, 2.0), (0.0, 20.0, 0.0)]
    rows = [
        sample("a", 8, 2.0, waited_seconds=waited, minor_faults=minor, major_faults=major)
        for waited, minor, major in counted
    ]
    (cell,) = measured(rows, series="a")
    assert (cell.waited, cell.faults) == (0.25, 20.0)
    assert cell.disturbed == 2, "a quarter and a half of the time are more than 5 %"


@pytest.mark.parametrize(
    ("count", "left_out"), [(1, 0), (2, 0), (6, 0), (8, 0), (9, 1), (12, 2), (20, 5), (100, 39)]
)
def test_the_interval_leaves_out_as_many_as_the_tables_of_the_sign_test_allow(count, left_out):
    assert interval(range(count)) == (left_out, count - 1 - left_out)


@pytest.mark.parametrize("count", [7, 15])
def test_it_holds_the_true_median_in_95_of_100_runs(count):
    order = random.Random(0)
    held = 0
    for _ in range(2000):
        values = [order.lognormvariate(0, 1) for _ in range(count)]
        low, high = interval(values)
        assert low <= median(values) <= high
        held += low <= 1 <= high
    assert held >= 0.94 * 2000


def test_fewer_samples_than_the_fewest_cannot_reach_95():
    outside = [2 / 2**count for count in (FEWEST - 1, FEWEST)]
    assert outside[0] > 0.05 >= outside[1]
