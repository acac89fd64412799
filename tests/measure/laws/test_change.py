import pytest
from tests.measure.laws.laws import LENGTHS, MANY, full, samples, seconds, shaken, stepped

from attncost import Margins, fit_law


def slower_attention(factor, start):
    """Attention runs at another speed from a length on, as where a kernel is exchanged."""
    core = {n: full(n).core / 5e10 for n in MANY}
    return {n: seconds(n) + (factor - 1) * core[n] * (n >= start) for n in MANY}


def test_a_kernel_that_changes_is_found_where_it_does_and_by_how_much():
    times = slower_attention(1.5, 1024)
    law = fit_law(shaken(times, noise=0.005), predicted=full)
    change = law.change
    assert (change.before, change.start, change.term) == (768, 1024, "core")
    assert change.factor == pytest.approx(1.5, rel=0.1)
    assert change.at == 4096
    assert change.effect == pytest.approx(times[4096] / seconds(4096) - 1, rel=0.15)
    assert change.gap >= 10


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_calls_that_all_become_slower_or_faster_are_found(factor):
    change = fit_law(shaken(stepped(factor, MANY), noise=0.005), predicted=full).change
    assert (change.start, change.term) == (1024, "all")
    assert change.factor == pytest.approx(factor, rel=0.03)
    assert change.effect == pytest.approx(factor - 1, rel=0.1)


def test_a_term_that_begins_to_take_time_has_no_factor():
    times = {n: 1e-9 * n + (1e-2 if n >= 512 else 0) for n in MANY}
    change = fit_law(shaken(times, noise=0.005), predicted=full).change
    assert (change.start, change.term, change.factor) == (512, "constant", None)


def test_what_changes_less_than_is_forgiven_is_no_change():
    timings = shaken(stepped(1.1, MANY), noise=1e-3)
    assert fit_law(timings, predicted=full).change is not None
    assert fit_law(timings, predicted=full, margins=Margins(tolerance=0.2)).change is None


@pytest.mark.parametrize(
    "timings",
    [
        samples(noise=0.02, lengths=MANY),
        shaken(stepped(2.0), noise=1e-3),
        shaken(slower_attention(2.0, 3072), noise=1e-3),
    ],
    ids=["one law", "7 lengths", "only two lengths on one side"],
)
def test_nothing_is_said_where_nothing_changes_or_lengths_are_too_few(timings):
    assert len(LENGTHS) == 7
    assert fit_law(timings, predicted=full).change is None
