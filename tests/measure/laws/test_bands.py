from math import inf

import numpy as np
import pytest
import scipy.optimize

from attncost import AttnCostError
from attncost.measure.laws.bands import coefficient_range, passes

COLUMNS = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 4.0]])
TIMES = COLUMNS @ [3.0, 2.0]


def solver(answers, calls):
    """Stand in for SciPy's: give the status that is next, or solve if it is 0."""
    real = scipy.optimize.linprog

    def linprog(*given, method, **options):
        calls.append(method)
        found = real(*given, method=method, **options)
        found.status = answers.pop(0) or found.status
        found.message = "numerical\n difficulties" if found.status == 4 else found.message
        return found

    return linprog


def test_no_law_passes_only_where_the_programme_is_infeasible():
    assert passes(COLUMNS, 0.99 * TIMES, 1.01 * TIMES)
    assert not passes(COLUMNS, 0.99 / TIMES, 1.01 / TIMES)
    assert coefficient_range(COLUMNS, 0.99 / TIMES, 1.01 / TIMES, of=0) is None
    assert coefficient_range(COLUMNS, TIMES, TIMES, of=1) == pytest.approx((2, 2))


@pytest.mark.parametrize("status", [1, 4])
def test_a_solver_that_fails_is_asked_another_way(status, monkeypatch):
    calls = []
    monkeypatch.setattr("scipy.optimize.linprog", solver([status, 0], calls))
    assert passes(COLUMNS, TIMES, TIMES)
    assert calls == ["highs", "highs-ipm"]


def test_a_solver_that_fails_twice_does_not_say_that_no_law_passes(monkeypatch):
    monkeypatch.setattr("scipy.optimize.linprog", solver([4, 4], []))
    with pytest.raises(AttnCostError, match="the solver says 'numerical difficulties'; leave out"):
        passes(COLUMNS, TIMES, TIMES)


@pytest.mark.parametrize(("status", "most"), [(2, None), (3, inf)])
def test_infeasible_and_unbounded_are_answers(status, most, monkeypatch):
    calls = []
    monkeypatch.setattr("scipy.optimize.linprog", solver([status, status], calls))
    found = coefficient_range(COLUMNS, TIMES, TIMES, of=1)
    assert found == (most if most is None else (most, most))
    assert set(calls) == {"highs"}
