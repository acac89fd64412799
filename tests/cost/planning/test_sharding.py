"""Shares of several devices against devices that are played: lists cut into pieces."""

import itertools
import math

import pytest
import sympy

from attncost import ShapeError
from attncost.core.counts import symbol
from attncost.cost.planning.sharding import Sharding


def fullest(things, devices):
    """Deal things to devices one by one, and return how many the fullest one has."""
    hands = [0] * devices
    for thing in range(things):
        hands[thing % devices] += 1
    return max(hands)


@pytest.mark.parametrize(("tensor", "data"), [*itertools.product((1, 2, 3, 8), (1, 2, 5))])
def test_zero_splits_one_part_more_at_each_stage(tensor, data):
    split, whole = 1000, 37
    one = fullest(split, tensor) + whole
    shared = fullest(one, data)
    for zero in range(4):
        how = Sharding(tensor=tensor, data=data, zero=zero)
        assert how.weights(split, whole) == (shared if zero >= 3 else one)
        assert how.gradients(split, whole) == (shared if zero >= 2 else one)
        assert how.optimizer(split, whole) == (shared if zero >= 1 else one)
        assert how.devices == tensor * data


@pytest.mark.parametrize("zero", range(4))
def test_the_memory_of_zero_is_that_of_its_paper(zero):
    """7.5B parameters on 64 devices, mixed precision with Adam: Figure 1 of arXiv:1910.02054."""
    how = Sharding(data=64, zero=zero)
    parameters = 7_500_000_000
    held = 2 * how.weights(parameters) + 2 * how.gradients(parameters)
    held += 12 * how.optimizer(parameters)
    assert round(held / 1e9, 1) == (120, 31.4, 16.6, 1.9)[zero]


def test_heads_of_keys_are_dealt_and_then_copied():
    per_head = 250
    for kv_heads, tensor in itertools.product((1, 2, 4, 8), (1, 2, 4, 8, 16)):
        heads = max(1, math.ceil(kv_heads / tensor))
        held = Sharding(tensor=tensor).cache(per_head * kv_heads, kv_heads=kv_heads)
        assert held == per_head * heads


def test_activations_between_the_split_ones_are_whole_unless_the_sequence_is_split():
    assert Sharding(tensor=4).activations(1000, 200) == 250 + 200
    assert Sharding(tensor=4, sequence=True).activations(1000, 200) == 250 + 50
    assert Sharding(data=4, zero=3).activations(1000, 200) == 1200


def test_a_batch_is_dealt_to_groups_and_not_to_tensor_parallel_devices():
    assert [Sharding(tensor=8, data=3).batch(b) for b in (1, 3, 4, 9)] == [1, 1, 2, 3]


def test_a_lone_device_holds_everything():
    one = Sharding()
    assert one.devices == 1
    assert (one.weights(7, 2), one.gradients(7, 2), one.optimizer(7, 2)) == (9, 9, 9)
    assert (one.activations(7, 2), one.cache(7, kv_heads=7), one.batch(5)) == (9, 7, 5)


def test_shares_are_formulas_too():
    p = symbol("p")
    held = Sharding(tensor=2, data=4, zero=3).weights(p)
    assert sympy.sympify(held).subs(p, 1001) == math.ceil(math.ceil(1001 / 2) / 4)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"tensor": 0}, "tensor must be at least 1 device, got 0"),
        ({"data": -1}, "data must be at least 1 device, got -1"),
        ({"zero": 4}, r"from 0 to 3 \(FSDP is 3\), got 4"),
    ],
)
def test_devices_that_cannot_be_are_refused(sizes, message):
    with pytest.raises(ShapeError, match=message):
        Sharding(**sizes)


def test_heads_that_cannot_be_shared_are_refused_with_a_number_that_can():
    with pytest.raises(ShapeError, match=r"tensor=8 for 12 heads: try 6\.$"):
        Sharding(tensor=8).check(heads=12, kv_heads=12)
    with pytest.raises(ShapeError, match=r"tensor=4 for 6 kv_heads: try 3\.$"):
        Sharding(tensor=4).check(heads=24, kv_heads=6)
    for tensor in (1, 2, 4, 8, 16, 32):
        Sharding(tensor=tensor).check(heads=32, kv_heads=8)
