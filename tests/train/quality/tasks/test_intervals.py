import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp, ttest_rel

from attncost.train.quality.tasks.intervals import estimate

SCORES = st.floats(0, 1, allow_subnormal=False)


@settings(max_examples=30, deadline=None)
@given(st.lists(SCORES, min_size=2, max_size=6).filter(lambda xs: np.ptp(xs) > 1e-6))
def test_the_interval_is_that_of_students_test(values):
    found = estimate(values)
    theirs = ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert found.value == pytest.approx(np.mean(values))
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_a_difference_taken_seed_by_seed_is_that_of_the_paired_test():
    one, other = [0.91, 0.87, 0.95, 0.90], [0.72, 0.71, 0.69, 0.75]
    found = estimate([a - b for a, b in zip(one, other, strict=True)])
    theirs = ttest_rel(one, other)
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    assert found.settled == (theirs.pvalue < 0.05)


def test_it_holds_the_truth_in_95_of_100_cases():
    draws = np.random.default_rng(0).normal(0.5, 0.1, (2000, 3))
    found = [estimate(row.tolist()) for row in draws]
    assert np.mean([one.low <= 0.5 <= one.high for one in found]) == pytest.approx(0.95, abs=0.015)


def test_one_seed_has_no_interval_and_settles_nothing():
    found = estimate([0.4])
    assert (found.value, found.low, found.high, found.settled) == (0.4, None, None, False)


def test_equal_values_have_an_interval_of_no_width():
    assert estimate([1.0, 1.0, 1.0]).low == estimate([1.0, 1.0, 1.0]).high == 1.0


def test_an_accuracy_has_no_interval_beyond_0_and_1():
    found = estimate([0.99, 0.9, 1.0], least=0.0, most=1.0)
    assert found.high == 1.0
    assert 0 < found.low < found.value
