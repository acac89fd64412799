from itertools import pairwise

import pytest
import torch

from attncost.kernels.lanes import Even
from attncost.kernels.plan import Step
from attncost.kernels.telling import telling


def step(lanes, keys, kind):
    queries = Even(0, 64, 1, lanes, 64)
    return Step(queries, Even(0, 64, 1, lanes, keys), None, False, bool(kind))


def worst(steps, left, taken):
    """Return the most that a step takes while the one before is still there."""
    first = taken(steps[0])
    return max([first, *(left(one) + taken(other) for one, other in pairwise(steps))])


SIZES = {
    "keys": lambda one: one.keys.length,
    "tiles": lambda one: one.queries.lanes * one.queries.length,
    "scores": lambda one: one.pairs * (2 if one.fresh else 1),
}


@pytest.mark.parametrize("seed", range(40))
def test_the_steps_that_are_left_take_as_much_as_all(seed):
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(1, 4, (12, 3), generator=generator).tolist()
    steps = [step(lanes, keys, kind == 1) for lanes, keys, kind in drawn]
    found = telling(steps)
    assert (found[0], found[-1]) == (steps[0], steps[-1])
    for left in SIZES.values():
        for taken in SIZES.values():
            assert worst(found, left, taken) == worst(steps, left, taken)


def test_of_many_equal_steps_and_of_growing_ones_few_are_left():
    assert len(telling([step(2, 64, 0)] * 100)) <= 4
    growing = [step(2, keys, 0) for keys in range(64, 164)]
    assert [one.keys.length for one in telling(growing)] == [64, 162, 163]
    assert [one.keys.length for one in telling(growing[::-1])] == [163, 162, 64]
