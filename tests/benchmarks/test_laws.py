from dataclasses import replace

import pytest
from benchmarks.laws import LENGTHS, Swept, promises
from benchmarks.laws_classes import EXACT, THEIRS, compared
from tests.measure.laws.laws import naive_bytes, pages, seconds, shaken
from tests.measure.laws.test_series import rows

from attncost.measure.laws.classes import CLASSES


def swept(what, times, faults=lambda n: 0.0):
    samples = [
        replace(row, minor_faults=faults(row.length), bytes=naive_bytes(row.length).bytes)
        for row in rows(what, shaken({n: times(n) for n in LENGTHS}, noise=0.01))
    ]
    return Swept(what=what, samples=samples, seconds=30.0)


def naive(n):
    return seconds(n) + 2e-6 * pages(n)


def met(found):
    return {promise.name: promise.met for promise in promises(found)}


def test_a_machine_that_follows_the_formula_keeps_every_promise():
    busy = swept("fused, busy", lambda n: 1.3 * seconds(n))
    kept = met([swept("fused", seconds), busy, swept("naive", naive, pages)])
    assert len(kept) == 12
    assert all(kept.values()), kept


def test_another_law_breaks_them():
    broken = met([swept("fused", lambda n: 1e-6 * n**1.7), swept("naive", naive)])
    assert not broken["AICc of n + n² less that of the next class + 10"]
    assert not broken["error in % at 4096 of the law up to 1024"]
    assert not broken["rms error of the naive layer's law in %"]
    assert not broken["naive layers whose page faults go unnamed"]
    assert broken["designs of the article that place a crossover"]


def test_busy_processes_that_move_the_exponent_break_theirs():
    still = swept("fused", seconds)
    moved = met([still, swept("fused, busy", lambda n: seconds(n) * (n / 64) ** 0.1)])
    assert not moved["exponent that two busy processes move by"]


@pytest.mark.slow
def test_every_class_is_compared_and_ours_are_never_wrong():
    assert set(EXACT) == set(THEIRS) == set(CLASSES)
    (promise,) = compared({}, trials=2).promises
    assert promise.figure == 0
    law = swept("fused", seconds).law()
    assert any(
        line.startswith("measured: fused") for line in compared({"fused": law}, trials=0).lines
    )
