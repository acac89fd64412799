import pytest

from attncost.core.cost import Cost
from attncost.core.counts import smaller
from attncost.core.errors import ShapeError
from attncost.cost.cheaper import Compared, Stretch, cheaper
from attncost.cost.counting.counted import Counted, Row


def costs(flops, *, least=1):
    """Count a model whose FLOPs are a function of the length, and note the lengths asked for."""
    asked = []

    def count_at(n):
        if n < least:
            raise ShapeError(f"too short: {n}")
        asked.append(n)
        total = flops(n)
        cost = Cost(useful=total, executed=total, dense=2 * total)
        row = Row(module="", phase="forward", step="weights", operation="mm", calls=1, cost=cost)
        return Counted(
            name="Model", rows=(row,), attention=(), unpriced=(), modules={"": "M"}, parameters=0
        )

    count_at.asked = asked
    return count_at


def brute_force(a, b, lengths):
    found = []
    for n in lengths:
        now = "first" if a(n) < b(n) else "second" if b(n) < a(n) else "neither"
        if not found or found[-1].cheaper != now:
            found.append(Stretch(start=n, cheaper=now))
    return tuple(found)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (lambda n: n * n, lambda n: 100 * n),
        (lambda n: 100 * n, lambda n: n * n),
        (lambda n: 3 * n * n, lambda n: 2 * n * n + 501 * n + 7),
        (lambda n: n * n + 2000, lambda n: 105 * n),
        (lambda n: 5 * n, lambda n: 5 * n),
    ],
)
def test_polynomials_are_compared_at_every_length(a, b):
    first, second = costs(a), costs(b)
    found = cheaper(Compared(counted=first), Compared(counted=second), longest=8192)
    assert (found.shortest, found.longest, found.every) == (2, 8192, True)
    assert found.useful == found.dense == brute_force(a, b, range(2, 8193))
    assert len(first.asked) == len(set(first.asked)) == 5


def test_what_bends_is_bisected():
    def even(n):
        return 300 * n + 1

    def window(n):
        return n * min(n, 500)

    found = cheaper(Compared(counted=costs(even)), Compared(counted=costs(window)), longest=1024)
    assert (found.shortest, found.longest, found.every) == (16, 1024, False)
    assert found.useful == brute_force(even, window, range(16, 1025))


def test_a_model_that_takes_no_short_sequence_is_compared_at_longer_ones():
    first = costs(lambda n: n * n, least=10)
    second = costs(lambda n: 100 * n)
    found = cheaper(Compared(counted=first), Compared(counted=second), longest=100)
    assert found.useful == (
        Stretch(start=16, cheaper="first"),
        Stretch(start=100, cheaper="neither"),
    )
    assert not found.every


def test_few_lengths_are_compared_too():
    first, second = (Compared(counted=costs(lambda n, k=k: k * n)) for k in (1, 2))
    found = cheaper(first, second, longest=8)
    assert found.useful == (Stretch(start=8, cheaper="first"),)


def windowed(n):
    return n * smaller(n, 500)


def even(n):
    return 300 * n + 1


def said(flops):
    return lambda n: Cost(useful=flops(n), dense=2 * flops(n))


def test_a_formula_that_agrees_with_the_count_is_taken_for_every_length():
    first, second = costs(even), costs(windowed)
    found = cheaper(
        Compared(counted=first, formula=said(even), checked=700),
        Compared(counted=second, formula=said(windowed), checked=700),
        longest=1024,
    )
    assert (found.shortest, found.longest, found.every) == (2, 1024, True)
    assert found.useful == found.dense == brute_force(even, windowed, range(2, 1025))
    assert first.asked == second.asked == [700, 1024]


def test_a_formula_is_compared_with_a_polynomial_through_counts():
    found = cheaper(
        Compared(counted=costs(even)),
        Compared(counted=costs(windowed), formula=said(windowed)),
        longest=1024,
    )
    assert found.every
    assert found.useful == brute_force(even, windowed, range(2, 1025))


@pytest.mark.parametrize("wrong", [lambda n: n * n, lambda n: n * smaller(n, 500) + 1])
def test_a_formula_that_the_count_contradicts_is_not_used(wrong):
    found = cheaper(
        Compared(counted=costs(even), formula=said(even)),
        Compared(counted=costs(windowed), formula=said(wrong)),
        longest=1024,
    )
    assert not found.every
    assert found.useful == brute_force(even, windowed, range(16, 1025))
