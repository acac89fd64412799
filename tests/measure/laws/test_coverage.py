"""Known truths and fake times: how often intervals hold them, and how often a class is wrong."""

from collections import Counter

import numpy as np
import pytest
from tests.measure.laws.laws import MANY, D, full, medians_of, seconds, shaken, stepped

from attncost.measure.laws import intervals
from attncost.measure.laws.change import change
from attncost.measure.laws.classes import CLASSES, columns_of, growth
from attncost.measure.laws.criterion import finest
from attncost.measure.laws.evidence import Evidence
from attncost.measure.laws.law import USUAL
from attncost.measure.laws.terms import Terms

TRIALS = 500
TERMS = Terms.of(MANY, full)
LONG = [n for n in MANY if n >= 1024]


def noise_of(medians):
    return finest(TERMS.columns, medians, rounding=0.0)


def evidence_of(medians):
    """What intervals are made from; what only the verdict asks for is left out."""
    return Evidence(
        formula="it",
        medians=medians,
        terms=TERMS,
        exponents=(),
        margins=USUAL,
        rms=0.0,
        near=0.0,
        noise=0.0,
        proved=0.0,
        speeds=None,
        agrees=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("repeats", "noise", "rounds"), [(6, 0.03, 0.1), (9, 0.03, 0.0)])
def test_intervals_hold_the_truth_as_often_as_they_say(repeats, noise, rounds):
    times = {n: seconds(n) for n in MANY}
    slope = np.polyfit(np.log(LONG), np.log([times[n] for n in LONG]), 1)[0]
    truths = (2e-4, 7e10, 5e10, slope, 2 * D * 5 / 7)
    held = np.zeros(len(truths))
    for seed in range(TRIALS):
        timings = shaken(times, noise=noise, repeats=repeats, seed=seed, rounds=rounds)
        medians = medians_of(timings)
        evidence = evidence_of(medians)
        laws = intervals.drawn(evidence)
        constant, linear, core = intervals.terms(evidence, laws)
        found = (
            constant.seconds,
            linear.rate,
            core.rate,
            intervals.long_end(medians, TERMS.total).measured,
            intervals.crossover(evidence, laws),
        )
        held += [one.low <= truth <= one.high for one, truth in zip(found, truths, strict=True)]
    assert np.all((held >= 0.92 * TRIALS) & (held <= 0.99 * TRIALS)), held / TRIALS


def drawn_law(name, generator):
    """Times of a class: no growing term is small at the end, and the constant is anything."""
    columns = columns_of(name, np.array(MANY, float))
    coefficients = np.ones(columns.shape[1])
    if len(coefficients) > 1:
        coefficients[1:] = generator.uniform(0.1, 1, len(coefficients) - 1) / columns[-1, 1:]
        coefficients[0] = generator.uniform(0, 4) * columns[0, 1:] @ coefficients[1:]
    return dict(zip(MANY, (columns @ coefficients).tolist(), strict=True))


@pytest.mark.slow
def test_a_class_that_is_decided_is_hardly_ever_wrong():
    found = Counter()
    for seed in range(TRIALS):
        name = list(CLASSES)[seed % len(CLASSES)]
        times = drawn_law(name, np.random.default_rng(seed))
        medians = medians_of(shaken(times, noise=(0.01, 0.03)[seed % 2], seed=seed))
        best = growth(medians, TERMS, noise=noise_of(medians), margins=USUAL)
        found["undecided" if best.undecided else "right" if best.name == name else "wrong"] += 1
    assert found["wrong"] <= 0.02 * TRIALS
    assert found["right"] >= 0.75 * TRIALS


@pytest.mark.slow
def test_an_exact_law_hardly_ever_seems_to_change():
    times = {n: seconds(n) for n in MANY}
    flagged = 0
    for seed in range(TRIALS):
        medians = medians_of(shaken(times, noise=(0.01, 0.03)[seed % 2], seed=seed), draws=100)
        flagged += change(medians, TERMS, noise=noise_of(medians), margins=USUAL) is not None
    assert flagged <= 0.02 * TRIALS


def test_a_change_that_is_there_is_seen():
    seen = 0
    for seed in range(20):
        medians = medians_of(shaken(stepped(1.3, MANY), noise=0.02, seed=seed), draws=100)
        found = change(medians, TERMS, noise=noise_of(medians), margins=USUAL)
        seen += found is not None and found.start == 1024
    assert seen >= 18
