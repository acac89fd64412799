import numpy as np
import pytest
from tests.measure.laws.laws import LENGTHS, MANY, full, medians_of, samples, shaken, window

from attncost import fit_law
from attncost.measure.laws.classes import CLASSES, columns_of, growth
from attncost.measure.laws.criterion import GAP, aicc
from attncost.measure.laws.law import USUAL
from attncost.measure.laws.terms import Terms


def grown(times, *, noise=0.01, lengths=MANY, predicted=full):
    medians = medians_of(shaken({n: times(n) for n in lengths}, noise=noise))
    return growth(medians, Terms.of(lengths, predicted), noise=noise, margins=USUAL)


@pytest.mark.parametrize(
    ("times", "name"),
    [
        (lambda n: 1e-3, "1"),
        (lambda n: 1e-4 + 1e-6 * n, "n"),
        (lambda n: 1e-6 * n * np.log(n), "n log n"),
        (lambda n: 1e-5 + 1e-6 * n**1.5, "n^1.5"),
        (lambda n: 1e-6 * n**2, "n²"),
        (lambda n: 1e-6 * n + 1e-9 * n**2, "n + n²"),
        (lambda n: 1e-6 * n + 1e-13 * n**3, "n + n³"),
    ],
)
def test_each_class_is_chosen_where_it_is_true(times, name):
    found = grown(times)
    assert (found.name, found.undecided) == (name, ())
    assert found.gap is None or found.gap >= GAP
    assert next(iter(found.criteria)) == name
    assert found.criteria[name] == 0


def test_columns_are_those_that_the_class_names():
    n = np.array([2.0, 4.0])
    assert set(CLASSES) == {"1", "n", "n log n", "n^1.5", "n²", "n + n²", "n + n³"}
    assert columns_of("n log n", n) == pytest.approx(
        np.array([[1, 2 * np.log(2)], [1, 8 * np.log(2)]])
    )
    assert columns_of("n + n³", n) == pytest.approx(np.array([[1, 2, 8], [1, 4, 64]]))


def test_linear_time_is_called_n_w_where_the_formula_reads_as_many_keys_for_every_query():
    lengths = [n for n in MANY if n >= 64]

    def times(n):
        return 1e-4 + 1e-6 * n

    assert grown(times, lengths=lengths, predicted=window).name == "n·w"
    assert grown(times, lengths=lengths).name == "n"


def test_a_quadratic_term_that_takes_time_but_is_lost_in_noise_is_undecided():
    found = grown(lambda n: 1e-6 * n + 1.5e-11 * n**2, noise=0.08)
    assert "n + n²" in (found.name, *found.undecided)
    assert len(found.undecided) > 0


def test_too_few_lengths_have_no_class():
    found = grown(lambda n: 1e-6 * n, lengths=LENGTHS[:5])
    assert (found.name, found.gap, found.undecided, found.idle) == (None, None, (), ())
    assert found.criteria == {}


def test_a_table_of_exact_times_has_a_class_too():
    law = fit_law(samples(repeats=1, lengths=MANY), predicted=full)
    assert (law.growth.name, law.growth.undecided) == ("n + n²", ())


def test_the_criterion_is_that_of_hurvich_and_tsai():
    # 10 lengths, rms error 0.1, 2 coefficients and the error itself: k = 3.
    expected = 10 * np.log(0.01) + 2 * 3 + 2 * 3 * 4 / (10 - 3 - 1)
    assert aicc(0.1, lengths=10, coefficients=2, noise=0.01) == pytest.approx(expected)
    assert aicc(0.001, lengths=10, coefficients=2, noise=0.1) == pytest.approx(expected)
    assert aicc(0.1, lengths=4, coefficients=2, noise=0.01) == np.inf
