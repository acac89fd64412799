from dataclasses import replace

import pytest
from tests.measure.laws.laws import LENGTHS, full, samples

from attncost import ShapeError, fit_law
from attncost.measure.laws.run import laws_of
from attncost.measure.store.store import Sample


def rows(subject, timings):
    return [
        Sample(
            subject=subject,
            labels={},
            length=n,
            batch=1,
            dtype="float32",
            round=visit,
            warmup=False,
            repeats=1,
            seconds=value,
            wall_seconds=value,
            peak_bytes=0,
            linear_flops=full(n).linear,
            core_flops=full(n).core,
        )
        for n, values in timings.items()
        for visit, value in enumerate(values)
    ]


TIMINGS = samples(noise=0.02)


def test_a_subject_without_a_law_does_not_take_those_of_the_others():
    thin = [row for row in rows("thin", TIMINGS) if row.length == LENGTHS[0]]
    warm = [replace(row, subject="warm", warmup=True) for row in thin]
    idle = [replace(row, subject="idle", seconds=0.0) for row in rows("", TIMINGS)]
    laws = laws_of([*thin, *warm, *rows("good", TIMINGS), *idle])
    assert laws.fitted == {"good": fit_law(TIMINGS, predicted=full)}
    assert list(laws.without) == ["idle", "thin", "warm"]
    assert "length 64 needs positive seconds" in laws.without["idle"]
    assert laws.without["thin"] == "a law needs 2 lengths or more, all positive, got [64]."
    assert "that are no warm-up, got none" in laws.without["warm"]


def test_samples_are_taken_by_their_rounds_whatever_the_order_of_rows():
    taken = rows("it", TIMINGS)
    assert laws_of(taken[::-1]) == laws_of(taken)


def test_no_samples_have_no_laws():
    laws = laws_of([])
    assert (laws.fitted, laws.without) == ({}, {})


@pytest.mark.parametrize("changes", [{"batch": 2}, {"dtype": "bfloat16"}, {"core_flops": 1}])
def test_samples_that_do_not_belong_together_are_refused(changes):
    taken = rows("it", TIMINGS)
    with pytest.raises(ShapeError, match=r"^it: "):
        laws_of([*taken, replace(taken[0], **changes)])
