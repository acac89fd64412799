"""Dials are set between the powers of two, and beyond them, for each way by itself."""

from math import sqrt
from random import Random

import pytest
from tests.batches.by_hand import Priced

from attncost.batches.choose import choose_batching
from attncost.batches.curves import Curves
from attncost.batches.priced import Pricing
from attncost.batches.ways.bucketed import Bucketed
from attncost.batches.ways.budgeted import Budgeted
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded
from attncost.cost.block import BlockSizes
from attncost.cost.configuration import Configuration
from attncost.patterns.full import Full

MODEL = Configuration.alike("small", BlockSizes(d_model=16, heads=2, hidden=64), Full(), layers=2)


def drawn(texts, seed=0):
    """Return lengths as those of real texts: most are short."""
    chance = Random(seed)
    return [max(1, min(512, int(chance.lognormvariate(3.5, 1)))) for _ in range(texts)]


@pytest.mark.parametrize("budget", [200, 700, 1448, 3000])
def test_a_start_and_a_square_make_a_best_budget_that_is_found(budget):
    # start / T + slot + square * T is least where T² is start / square.
    machine = Priced(start=1e-3, slot=1e-6, square=1e-3 / budget**2)
    lengths = [10] * 2000
    best = choose_batching(lengths, MODEL, machine, ways=["packed"]).best
    least = 20_000 * (machine.slot + 2 * sqrt(machine.start * machine.square) + 10 * machine.pair)
    assert budget / 2 < best.way.tokens < budget * 2
    assert least * (1 - 1e-9) < best.seconds < 1.02 * least


@pytest.mark.parametrize("documents", ["apart", "masked"])
@pytest.mark.parametrize("cliff", [300, 1400, 3100, None])
def test_the_budget_is_within_a_twentieth_of_the_best_of_a_fine_sweep(documents, cliff):
    lengths = drawn(400)
    smooth = Priced(start=1e-2, square=0 if cliff else 1e-9)
    points = tuple(
        (n, smooth.rest(n) * (2 if cliff and n > cliff else 1)) for n in range(1, 4000, 7)
    )
    attend = tuple((n, smooth.attend(n)) for n in (1, 4000))
    machine = Curves("a cliff", rest=points, attend=attend)
    pricing = Pricing(lengths, MODEL, machine=machine, documents=documents)
    sweep = [pricing.of(Packed(round(64 * 1.06**i))).seconds for i in range(120)]
    best = choose_batching(lengths, MODEL, machine, documents=documents, ways=["packed"]).best
    assert best.seconds <= 1.05 * min(sweep)


@pytest.mark.parametrize("texts", [400, 3000])
def test_each_way_is_listed_with_dials_as_good_as_if_it_were_tried_alone(texts):
    lengths, machine = drawn(texts), Priced(start=5e-2, slot=1e-6, square=1e-13)
    choice = choose_batching(lengths, MODEL, machine, part=2000)
    pricing = Pricing(lengths, MODEL, machine=machine)
    every = [Padded(256), Bucketed(512, pool=9), Budgeted(1 << 16, pool=9), Packed(1 << 16)]
    for way in every:
        listed = min(one.seconds for one in choice.tried if type(one.way) is type(way))
        assert listed <= 1.2 * pricing.of(way).seconds
