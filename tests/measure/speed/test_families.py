from itertools import product

import pytest

from attncost.measure.speed.families import families, placed
from attncost.measure.speed.family import Pool
from attncost.measure.speed.record import recorded


def small(family):
    """Return the least point that is timed and one that differs in every size."""
    points = list(product(*(axis[:2] for axis in family.knots)))
    return [points[0], points[-1]]


@pytest.mark.parametrize("name", families())
def test_what_is_timed_at_a_point_is_priced_at_this_point(name):
    family, pool = families()[name], Pool(1 << 23)
    for point in small(family):
        found = recorded(family.probe(pool, point))
        places = [placed(one) for one in found.operations if one.kind != "free"]
        mine = [place for place in places if place is not None and place[0] == name]
        assert len(mine) == 1, places
        ((_, place),) = mine
        assert place.work == pytest.approx(family.work(point))
        # Sizes that do not divide are rounded.
        assert place.point == pytest.approx(point, rel=0.05)


@pytest.mark.parametrize("name", families())
def test_the_least_call_of_a_family_runs(name):
    family = families()[name]
    family.probe(Pool(1 << 12), family.least)()


def test_each_family_has_a_name_of_its_own_and_increasing_knots():
    assert len(families()) > 20
    for family in families().values():
        assert all(list(axis) == sorted(set(axis)) for axis in family.knots)
        assert len(family.least) == len(family.knots)
