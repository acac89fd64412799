from dataclasses import replace

import pytest
from tests.measure.laws.laws import full, samples
from tests.measure.laws.test_run import rows

from attncost import ShapeError, fit_law
from attncost.measure.laws.pooled import pooled
from attncost.measure.laws.run import laws_of

HERE = {"processor": "one", "torch": "2.13.0", "started": "now"}
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
