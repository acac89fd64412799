from dataclasses import replace

import pytest
from tests.measure.laws.laws import LENGTHS, MANY, full, pages, samples, seconds, shaken

from attncost import ShapeError, fit_law
from attncost.measure.laws.series import laws_of
from attncost.measure.store.sample import Sample


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


def test_samples_that_do_not_belong_together_are_refused():
    taken = rows("it", TIMINGS)
    with pytest.raises(ShapeError, match=r"^it: length 64 has more than one count of FLOPs"):
        laws_of([*taken, replace(taken[0], core_flops=1)])


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"batch": 2}, "it, batch 2"),
        ({"dtype": "bfloat16"}, "it, bfloat16"),
        ({"mode": "training"}, "it, training"),
        ({"threads": 2}, "it, threads 2"),
        ({"device": "cuda"}, "it, cuda"),
    ],
)
def test_series_of_one_subject_have_a_law_each_and_are_named_after_what_is_unusual(changes, name):
    usual = rows("it", TIMINGS)
    slower = [replace(row, seconds=2 * row.seconds, **changes) for row in usual]
    laws = laws_of([*usual, *slower, *rows("alone", TIMINGS)]).fitted
    assert laws[name].linear_rate.value == pytest.approx(laws["alone"].linear_rate.value / 2)
    assert set(laws) == {"alone", "it", name}
    assert list(laws_of(slower).fitted) == [name], "also where it is the only one"


def test_page_faults_of_the_rows_become_a_term():
    times = {n: seconds(n) + 2e-6 * pages(n) for n in MANY}
    taken = [
        replace(row, minor_faults=pages(row.length) - 1 if pages(row.length) else 0.0)
        for row in rows("naive", shaken(times, noise=0.01))
    ]
    # A page that was read from the disk is one as well.
    taken = [replace(row, major_faults=1.0) if row.minor_faults else row for row in taken]
    law = laws_of(taken).fitted["naive"]
    assert law.term("faults").amounts == tuple(map(pages, MANY))
    assert law.term("faults").seconds.value == pytest.approx(2e-6, rel=0.1)
