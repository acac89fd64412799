import pytest
from benchmarks.predict import MODEL, PATTERNS, SDPA, error, promises, wholes


def row(group, predicted, seconds=1.0):
    return {"group": group, "name": "", "predicted": predicted, "seconds": seconds, "roofline": 0.5}


def test_an_error_is_relative_to_what_was_measured():
    assert error(row(SDPA, 1.1)) == pytest.approx(10)
    assert error(row(SDPA, 1.8, seconds=2.0)) == pytest.approx(-10)
    assert error(row(SDPA, 1.1), "roofline") == pytest.approx(-50)


def test_median_and_worst_are_promised_of_layers_and_the_worst_of_the_model():
    rows = [row(SDPA, 1 + off) for off in (-0.16, 0.01, 0.02)] + [row(MODEL, 1.09)]
    median, worst, model = promises(rows)
    assert (median.figure, median.met) == (pytest.approx(2), True)
    assert (worst.figure, worst.met) == (pytest.approx(16), False)
    assert (model.figure, model.met) == (pytest.approx(9), True)


def test_all_groups_are_there_when_it_is_quick():
    groups = {one.group for one in wholes(quick=True)}
    assert {SDPA, PATTERNS, MODEL} <= groups
