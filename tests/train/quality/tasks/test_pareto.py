from hypothesis import given, settings
from hypothesis import strategies as st

from attncost.train.quality.tasks.pareto import front

POINTS = st.dictionaries(
    st.sampled_from("abcdefgh"), st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8
)


@settings(max_examples=40, deadline=None)
@given(POINTS)
def test_it_keeps_what_no_other_is_better_or_cheaper_than(points):
    kept = []
    for name, (quality, cost) in points.items():
        beaten = False
        for other_quality, other_cost in points.values():
            if other_quality > quality and other_cost <= cost:
                beaten = True
            if other_quality >= quality and other_cost < cost:
                beaten = True
        if not beaten:
            kept.append(name)
    assert front(points) == tuple(kept)


@settings(max_examples=40, deadline=None)
@given(POINTS.filter(bool))
def test_the_best_and_the_cheapest_are_in_it(points):
    found = front(points)
    best = max(points, key=lambda name: (points[name][0], -points[name][1]))
    cheapest = min(points, key=lambda name: (points[name][1], -points[name][0]))
    assert {best, cheapest} <= set(found)
