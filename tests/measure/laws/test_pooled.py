from dataclasses import replace
from statistics import median

import pytest
from tests.measure.laws.laws import full, samples, seconds, shaken
from tests.measure.laws.test_series import rows

from attncost import ShapeError, fit_law
from attncost.measure.laws.pooled import pooled
from attncost.measure.laws.series import laws_of

HERE = {"processor": "one", "torch": "2.13.0", "started": "now"}
TIMES = {n: seconds(n) for n in (512, 1024, 2048, 4096)}
FIRST, SECOND = (rows("it", samples(noise=0.02, repeats=k, seed=k)) for k in (6, 9))


def test_rounds_of_several_runs_follow_each_other():
    both = pooled({"a": (HERE, FIRST), "b": ({**HERE, "started": "later"}, SECOND)})
    assert sorted({row.round for row in both}) == list(range(15))
    seconds = {}
    for row in both:
        seconds.setdefault(row.length, []).append(row.seconds)
    assert laws_of(both).fitted == {"it": fit_law(seconds, predicted=full)}
    assert laws_of(both).fitted["it"].repeats == 15


def test_a_run_alone_is_left_as_it_is():
    assert pooled({"a": (HERE, FIRST)}) == FIRST


def test_runs_of_different_machines_are_pooled_only_if_that_is_asked_for():
    runs = {"a": (HERE, FIRST), "b": ({**HERE, "processor": "other"}, SECOND)}
    with pytest.raises(ShapeError, match=r"^b was not measured as a was .*one and other.*--across"):
        pooled(runs)
    assert len(pooled(runs, across_environments=True)) == len(FIRST) + len(SECOND)


def test_a_resumed_round_is_still_one_round():
    late = [replace(row, round=row.round + 6) for row in FIRST]
    both = pooled({"a": (HERE, FIRST), "b": (HERE, late)})
    assert max(row.round for row in both) == 5 + 1 + 11


@pytest.mark.parametrize("missed", [range(6), (3,)], ids=["a whole run", "one round"])
def test_a_length_that_missed_rounds_keeps_the_others_beside_those_of_other_lengths(missed):
    by_round, by_place = [], []
    for seed in range(4):
        timings = shaken(TIMES, noise=0.002, rounds=0.2, repeats=15, seed=seed)
        taken = [row for row in rows("it", timings) if row.length < 4096 or row.round not in missed]
        runs = {
            "a": [row for row in taken if row.round < 6],
            "b": [replace(row, round=row.round - 6) for row in taken if row.round >= 6],
        }
        both = pooled({name: (HERE, samples) for name, samples in runs.items()})
        by_round.append(laws_of(both).fitted["it"])
        # As if the first samples of all lengths were of one round.
        timings[4096] = [one.seconds for one in taken if one.length == 4096]
        by_place.append(fit_law(timings, predicted=full))
    assert width(by_round) < 0.75 * width(by_place)


def width(laws):
    """Return how wide the interval of the last exponent is, in the median of laws."""
    return median(law.exponents[-1].measured.high - law.exponents[-1].measured.low for law in laws)
