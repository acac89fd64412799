import json
import math
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.measure.laws.laws import LENGTHS, D, full, samples, seconds, shaken, window

from attncost import Margins, ShapeError, fit_law
from attncost.measure.laws.intervals import overall
from attncost.measure.laws.medians import summarise
from attncost.measure.laws.predicted import Predicted
from attncost.measure.laws.squares import rms, rms_each, solve, solve_each
from attncost.measure.laws.terms import Terms
from attncost.measure.store.summary import interval


@settings(max_examples=25, deadline=None)
@given(
    constant=st.floats(1e-6, 1e-2),
    linear_rate=st.floats(1e9, 1e13),
    speed=st.floats(0.1, 10),
)
def test_recovers_known_coefficients_and_their_crossover(constant, linear_rate, speed):
    core_rate = linear_rate * speed
    known = {"constant": constant, "linear_rate": linear_rate, "core_rate": core_rate}
    law = fit_law(samples(repeats=1, **known), predicted=full)
    total = seconds(LENGTHS[-1], **known)
    # A coefficient is only as well known as its part of the time that float64 resolves.
    assert law.constant.value == pytest.approx(constant, rel=1e-4, abs=1e-7 * total)
    assert law.predict(LENGTHS[0]) == pytest.approx(seconds(LENGTHS[0], **known), rel=1e-9)
    assert law.predict(8192) == pytest.approx(seconds(8192, **known), rel=1e-6)
    assert law.rms < 1e-9
    assert law.crossover.value == pytest.approx(2 * D * speed, rel=1e-3)
    assert law.theory_crossover == pytest.approx(2 * D)


def test_speeds_are_those_of_the_two_parts():
    law = fit_law(samples(noise=1e-6), predicted=full)
    assert law.linear_rate.value == pytest.approx(7e10, rel=1e-4)
    assert law.core_rate.value == pytest.approx(5e10, rel=1e-4)
    assert not law.merged
    assert (law.repeats, law.intervals) == (9, "bootstrap")


@pytest.mark.parametrize("law", [{}, {"constant": 0.0}, {"constant": 1e-1}, {"core_rate": 1e8}])
def test_many_laws_at_once_are_those_of_one_at_a_time(law):
    medians = summarise(samples(noise=0.2, repeats=7, **law), margins=Margins(), draws=200)
    terms = Terms.of(LENGTHS, full)
    for columns in (terms.columns, terms.columns_within(10), terms.columns[:, :2]):
        found = solve_each(columns, medians.draws)
        wanted = np.stack([solve(columns, seconds) for seconds in medians.draws])
        shares = columns.max(axis=0) / medians.seconds.max()
        assert found * shares == pytest.approx(wanted * shares, rel=1e-9, abs=1e-11)
        errors = [rms(columns, seconds) for seconds in medians.draws]
        assert rms_each(columns, medians.draws) == pytest.approx(errors, rel=1e-9)


def test_takes_the_formula_as_a_function_or_as_numbers():
    timings = samples(noise=0.02)
    assert fit_law(timings, predicted=full) == fit_law(
        dict(reversed(timings.items())), predicted={n: full(n) for n in LENGTHS}
    )


def test_one_wild_sample_a_length_changes_nothing():
    timings = samples(noise=0.01)
    wild = {n: [*values, 20 * values[0]] for n, values in timings.items()}
    law = fit_law(wild, predicted=full)
    assert law.crossover.value == pytest.approx(2 * D * 5 / 7, rel=0.1)
    assert law.verdict.word == "consistent"


def test_intervals_of_medians_are_those_of_the_summary():
    timings = samples(noise=0.04, repeats=7)
    law = fit_law(timings, predicted=full)
    found = [(point.seconds.low, point.seconds.high) for point in law.points]
    assert found == [interval(values) for values in timings.values()]


@pytest.mark.parametrize("repeats", [6, 7, 10])
def test_draws_lie_between_two_samples_as_often_as_coins_say(repeats):
    timings = samples(noise=0.04, repeats=repeats)
    draws = summarise(timings, margins=Margins()).draws
    assert draws.shape == (1000, len(LENGTHS))
    for values, column in zip(timings.values(), draws.T, strict=True):
        below = np.searchsorted(np.sort(values), column)
        # Beyond the ends a draw is the last sample itself.
        for k in range(1, repeats):
            share = math.comb(repeats, k) / 2**repeats
            assert np.mean(below == k) == pytest.approx(share, abs=4.5 * math.sqrt(share / 1000))


def test_what_slows_whole_rounds_down_mostly_cancels_in_exponents():
    times = {n: seconds(n) for n in LENGTHS}

    def width(**noise):
        found = []
        for seed in range(20):
            medians = summarise(shaken(times, seed=seed, **noise), margins=Margins())
            slope = overall(medians, Terms.of(LENGTHS, full).total).measured
            found.append(slope.high - slope.low)
        return np.median(found)

    assert width(noise=0.01, rounds=0.2) < width(noise=0.2) / 5


def test_lengths_that_miss_their_last_rounds_are_fitted_all_the_same():
    timings = samples(noise=0.01)
    timings[4096] = timings[4096][:6]
    law = fit_law(timings, predicted=full)
    assert (law.repeats, law.intervals, law.verdict.word) == (6, "bootstrap", "consistent")


def test_fewer_than_six_samples_are_judged_by_tolerance_and_as_many_give_intervals():
    few, enough = (fit_law(samples(noise=0.01, repeats=k), predicted=full) for k in (5, 6))
    assert few.intervals == "tolerance"
    assert enough.intervals == "bootstrap"


def test_the_band_of_a_few_samples_holds_them_all():
    law = fit_law({n: [t, 1.5 * t, 1.1 * t] for n, t in ((64, 1.0), (128, 2.0))}, predicted=full)
    band = law.points[0].seconds
    assert (band.low, band.value, band.high) == pytest.approx((0.95, 1.1, 1.05 * 1.5))


def test_a_tolerance_gives_the_range_of_all_laws_within_it():
    law = fit_law(samples(repeats=1, constant=0.0), predicted=full)
    # Independent of the programme: every law on a grid that is within 5 % of every value.
    times = np.array([seconds(n, constant=0.0) for n in LENGTHS])
    n = np.array(LENGTHS, float)
    c0, c1, c2 = np.meshgrid(
        np.linspace(0, 5e-4, 51),
        8 * D**2 / 7e10 * np.linspace(0.7, 1.1, 121),
        4 * D / 5e10 * np.linspace(0.9, 1.1, 61),
    )
    errors = [np.abs((c0 + c1 * n + c2 * n**2) / t - 1) for n, t in zip(n, times, strict=True)]
    fits = (c1 / c2)[np.max(errors, axis=0) <= 0.05]
    assert law.crossover.low <= min(fits)
    assert max(fits) <= law.crossover.high
    assert law.crossover.low == pytest.approx(min(fits), rel=0.02)
    assert law.crossover.high == pytest.approx(max(fits), rel=0.02)


def test_a_window_has_one_speed_for_all_flops_and_no_crossover():
    law = fit_law(samples(noise=0.005, core_rate=7e10, predicted=window), predicted=window)
    assert law.merged
    assert law.linear_rate == law.core_rate
    assert law.linear_rate.value == pytest.approx(7e10, rel=0.02)
    assert law.crossover is law.theory_crossover is None
    assert law.predict(1000) == pytest.approx(
        seconds(1000, core_rate=7e10, predicted=window), rel=0.02
    )


def test_attention_without_projections_has_one_speed_too():
    law = fit_law(
        {n: [1e-4 + 4 * n**2 * D / 5e10] for n in LENGTHS},
        predicted=lambda n: Predicted(linear=0, core=4 * n**2 * D),
    )
    assert law.merged
    assert law.core_rate.value == pytest.approx(5e10)
    assert law.predict(3000) == pytest.approx(1e-4 + 4 * 3000**2 * D / 5e10)


def test_a_formula_that_levels_off_has_a_crossover_only_if_it_gets_there():
    # Up to 512 keys a query: attention ends at half of the projections.
    def levels(n):
        return Predicted(linear=8 * n * D**2, core=4 * n * min(n, 512) * D)

    law = fit_law(samples(predicted=levels, noise=0.001), predicted=levels)
    assert not law.merged
    assert law.theory_crossover is None
    assert law.crossover is None
    slow = fit_law(samples(predicted=levels, core_rate=1.4e10), predicted=levels)
    assert slow.crossover is None, "the formula has none to compare with"


def test_a_term_that_takes_no_time_has_a_speed_without_end():
    law = fit_law({n: [1e-3 + 1e-9 * n**2] * 5 for n in LENGTHS}, predicted=full)
    assert law.linear_rate.value is None
    assert law.crossover.value == pytest.approx(0, abs=1e-3)
    flat = fit_law({n: [1e-3] * 5 for n in LENGTHS}, predicted=full)
    assert flat.core_rate.value is None
    assert flat.predict(10**6) == pytest.approx(1e-3)


def test_exponents_are_those_of_neighbours_and_of_all_lengths():
    law = fit_law({n: [1e-9 * n**1.5] for n in (64, 100, 512)}, predicted=full)
    assert [(e.start, e.end) for e in law.exponents] == [(64, 100), (100, 512)]
    assert [e.measured.value for e in law.exponents] == pytest.approx([1.5, 1.5])
    assert law.overall.measured.value == pytest.approx(1.5)
    assert law.overall.theory == pytest.approx(
        np.polyfit(
            np.log([64, 100, 512]),
            [np.log(full(n).linear + full(n).core) for n in (64, 100, 512)],
            1,
        )[0]
    )
    assert law.exponents[0].measured.low == pytest.approx(
        1.5 + np.log(0.95 / 1.05) / np.log(100 / 64)
    )


def test_a_law_is_json():
    for timings in (samples(noise=0.02), {n: [1e-3] for n in LENGTHS}):
        law = fit_law(timings, predicted=full)
        assert json.loads(json.dumps(asdict(law), allow_nan=False))["rms"] == law.rms


@pytest.mark.parametrize(
    ("timings", "predicted", "reason"),
    [
        ({}, full, "2 lengths or more"),
        ({64: [1.0]}, full, r"2 lengths or more, all positive, got \[64\]"),
        ({0: [1.0], 64: [1.0]}, full, "all positive"),
        ({64: [1.0], 128: []}, full, "length 128 needs positive seconds"),
        ({64: [1.0], 128: [0.0]}, full, "length 128 needs positive seconds"),
        ({64: [1.0], 128: [float("nan")]}, full, "length 128 needs positive seconds"),
        ({64: [1.0], 128: [1e300]}, full, "length 128 needs positive seconds, 1e-20 to 1e[+]20"),
        ({64: [1.0], 10**400: [2.0]}, full, "lengths and their FLOPs must be at most 1e[+]60"),
        ({64: [1.0], 128: [2.0]}, {64: full(64)}, r"none for \[128\]"),
        ({64: [1.0], 128: [2.0]}, lambda n: Predicted(linear=0, core=0), "got 0 at every length"),
        ({64: [1.0], 128: [2.0]}, lambda n: Predicted(linear=1, core=n - 64), "0 everywhere"),
        ({64: [1.0], 128: [2.0]}, lambda n: Predicted(linear=2, core=3), "that differ .* got 5 at"),
    ],
)
def test_says_what_it_cannot_fit(timings, predicted, reason):
    with pytest.raises(ShapeError, match=reason):
        fit_law(timings, predicted=predicted)
