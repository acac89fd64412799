from dataclasses import replace

import numpy as np
import pytest
from tests.measure.laws.laws import MANY, full, medians_of, pages, samples, seconds, shaken
from tests.measure.laws.test_coverage import evidence_of

from attncost import fit_law
from attncost.measure.laws import intervals
from attncost.measure.laws.fit import fit_medians
from attncost.measure.laws.squares import rms
from attncost.measure.laws.terms import Terms

SHORT = [n for n in MANY if n <= 1024]
RUNS = 200


def faulty(n):
    return seconds(n) + 2e-6 * pages(n)


def test_what_is_fitted_up_to_1024_tokens_predicts_4096():
    law = fit_law(samples(noise=0.01, lengths=SHORT), predicted=full)
    found = law.prediction(4096)
    assert found.value == law.predict(4096) == pytest.approx(seconds(4096), rel=0.05)
    assert found.low <= seconds(4096) <= found.high


@pytest.mark.slow
def test_predictions_hold_the_truth_and_what_will_be_measured_as_often_as_they_say():
    times, formula = {n: seconds(n) for n in SHORT}, Terms.of(SHORT, full)
    usual = fit_medians(medians_of(shaken(times, noise=0.03)), predicted=full)
    held = np.zeros(2)
    for seed in range(RUNS):
        noise = (0.01, 0.03)[seed % 2]
        medians = medians_of(shaken(times, noise=noise, seed=seed))
        evidence = evidence_of(medians, formula)
        laws = intervals.drawn(evidence)
        # All that a prediction is made from.
        law = replace(
            usual,
            terms=intervals.terms(evidence, laws),
            covariance=intervals.covariance(laws),
            rms=rms(formula.columns, medians.seconds),
        )
        found = law.prediction(4096)
        there = shaken({4096: seconds(4096)}, noise=noise, seed=RUNS + seed)
        held += [found.low <= x <= found.high for x in (seconds(4096), np.median(there[4096]))]
    assert np.all((held >= 0.92 * RUNS) & (held <= 0.99 * RUNS)), held / RUNS


def test_a_prediction_without_draws_has_no_interval():
    found = fit_law(samples(repeats=1), predicted=full).prediction(8192)
    assert found.value == pytest.approx(seconds(8192))
    assert found.low is found.high is None


def test_page_faults_go_on_as_they_last_grew():
    medians = medians_of(shaken({n: faulty(n) for n in MANY}, noise=1e-4), faults=pages)
    law = fit_medians(medians, predicted=full)
    assert law.predict(8192) == pytest.approx(faulty(8192), rel=0.01)
    fault = law.term("faults")
    assert law.amount(fault, 8192) == pytest.approx(pages(8192))
    assert law.amount(fault, 2500) == pytest.approx(pages(2500))
    assert law.amount(fault, 32) == 0
    # Between none and some nobody knows where they begin.
    assert 0 < law.amount(fault, 900) < pages(1024)


def test_page_faults_that_jumped_last_do_not_run_away():
    def jumped(n):
        return pages(n) / (1 if n == 4096 else 10)

    times = {n: seconds(n) + 2e-6 * jumped(n) for n in MANY}
    law = fit_medians(medians_of(shaken(times, noise=1e-4), faults=jumped), predicted=full)
    assert law.amount(law.term("faults"), 8192) == pytest.approx(4 * jumped(4096))
