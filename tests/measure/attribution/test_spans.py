"""Own times are what is left of a span once its children are taken out, whatever the order."""

import random

from tests.measure.attribution.spans import span

from attncost.measure.attribution.spans import nest


def tree(rng, thread, start, depth, known):
    """Grow spans with random own time before, between and after their children; return the end."""
    at, own = start, 0
    name = f"{thread}.{len(known)}"
    known[name] = None
    for _ in range(rng.randrange(4) if depth else 0):
        pause = rng.randrange(1, 9)
        at, own = tree(rng, thread, at + pause, depth - 1, known), own + pause
    rest = rng.randrange(1, 9)
    known[name] = (start, at + rest, own + rest)
    return at + rest


def test_own_times_are_those_that_the_spans_were_made_of():
    rng = random.Random(0)
    for _ in range(20):
        known = {}
        for thread in (1, 2, 7):
            at = 0
            for _ in range(3):
                at = tree(rng, thread, at + rng.randrange(5), 4, known)
        spans = [
            span(name, start, end, thread=int(name[0])) for name, (start, end, _) in known.items()
        ]
        rng.shuffle(spans)
        found = nest(spans)
        assert {one.span.name: one.own for one in found} == {
            name: own for name, (_, _, own) in known.items()
        }
        for one in found:
            if one.parent >= 0:
                above = found[one.parent].span
                assert above.thread == one.span.thread
                assert above.start <= one.span.start <= one.span.end <= above.end


def test_own_times_add_up_to_the_outermost_spans_also_where_a_clock_rounded():
    found = nest([span("outer", 0, 10), span("late", 4, 11), span("within", 10, 11)])
    assert [(one.span.name, one.own) for one in found if one.parent < 0] == [
        ("outer", 4),
        ("within", 1),
    ]
    assert sum(one.own for one in found) == 10 + 1
    assert all(one.own >= 0 for one in found)


def test_what_follows_at_the_same_instant_lies_beside_and_not_inside():
    found = nest([span("a", 0, 5), span("b", 5, 9), span("c", 5, 5)])
    assert {one.span.name: (one.parent, one.own) for one in found} == {
        "a": (-1, 5),
        "b": (-1, 4),
        "c": (1, 0),
    }
