"""Crossovers against brute force at every length, and the laws that spare making every plan.

Thousands of plans are made, which take four times as long under the hook that checks types.
"""

from functools import cache
from itertools import pairwise

import pytest

from attncost import BlockSizes, Causal, Window, mechanism, patterns
from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.core.options import Options
from attncost.cost.crossovers import MEASURES, Contender, crossovers
from attncost.cost.worked_out import FALL, WIDTHS, held
from attncost.kernels import kernel
from attncost.kernels.interface import Call, priced

SIZES = BlockSizes(d_model=64, heads=4, kv_heads=2)
FLEX, FOLDED, REFERENCE, SDPA, VARLEN = map(
    kernel, ("flex", "folded", "reference", "sdpa", "varlen")
)
# Beyond four tiles, where plans begin to take them together, and the wider ones.
LENGTHS = [*range(1, 75), *range(75, 330, 11)]
EXAMPLES = [one for name in patterns.names() for one in patterns.load(name).examples()[:2]]


def reaches(pattern):
    """Say whether a pattern is for sequences of any length."""
    try:
        pattern.parts(LENGTHS[-1], LENGTHS[-1], WIDTHS[0])
    except ShapeError:
        return False
    return True


REACHING = [one for one in EXAMPLES if reaches(one)]


@cache
def cost_at(one, n):
    dims = SIZES.dims(n)
    if one.kernel is None:
        is_pattern = hasattr(one.attention, "pairs")
        return priced(one.attention, dims) if is_pattern else one.attention.cost(dims)
    return one.kernel.cost(one.attention, dims)


def by_brute_force(cheap, dear, measure, limit):
    """Return what a crossing says, from one comparison a length."""
    wins = [
        getattr(cost_at(cheap, n), measure) < getattr(cost_at(dear, n), measure)
        for n in range(1, limit + 1)
    ]
    won = [n for n, win in enumerate(wins, 1) if win]
    lasting = None
    for n in range(limit, 0, -1):
        if not wins[n - 1]:
            break
        lasting = n
    times = sum(win != before for before, win in pairwise(wins))
    return (min(won, default=None), lasting, times)


def said(found, measure):
    return (found[measure].first, found[measure].lasting, found[measure].times)


@pytest.mark.parametrize("pattern", REACHING, ids=str)
@pytest.mark.parametrize("one", [None, SDPA, REFERENCE, VARLEN, FLEX, FOLDED], ids=str)
def test_brute_force_agrees_about_every_pattern_and_kernel(pattern, one):
    limit = 68 if one in (FLEX, FOLDED) else 40
    cheap, dear = Contender(pattern, one), Contender(Causal(), SDPA)
    found = crossovers(cheap, dear, SIZES, limit=limit)
    for measure in MEASURES[:3]:
        assert found[measure].longest == limit
        assert said(found, measure) == by_brute_force(cheap, dear, measure, limit), measure


@pytest.mark.parametrize(
    ("cheap", "dear"),
    [
        (Contender(Window(48), FOLDED), Contender(Causal(), FOLDED)),
        (Contender(Window(200), FOLDED), Contender(Window(100, ahead=50), FOLDED)),
        (Contender(Causal(), FOLDED), Contender(Window(48), FOLDED)),
        (Contender(Causal(), FOLDED), Contender(Causal(), FOLDED)),
        (Contender(Window(30), FLEX), Contender(Window(30), FOLDED)),
        (Contender(mechanism("linformer", rank=64)), Contender(Window(48), FOLDED)),
    ],
)
def test_brute_force_agrees_where_plans_are_made_on_both_sides(cheap, dear):
    found = crossovers(cheap, dear, SIZES, limit=264)
    for measure in MEASURES[:3]:
        assert said(found, measure) == by_brute_force(cheap, dear, measure, 264), measure


@pytest.mark.parametrize("pattern", REACHING, ids=str)
def test_tiles_of_one_width_never_hold_less_when_a_token_is_added(pattern):
    for width in WIDTHS:
        pairs = [held(pattern, n, width).pairs for n in LENGTHS]
        assert pairs == sorted(pairs)


@pytest.mark.parametrize("pattern", REACHING, ids=str)
def test_a_plan_holds_what_tiles_of_one_of_the_widths_do_and_never_moves_half_as_much(pattern):
    most = 0
    for n in LENGTHS:
        work = FOLDED.work(Call(pattern, Dims(length=n, head_dim=16), Options()))
        assert work.pairs in [held(pattern, n, width).pairs for width in WIDTHS]
        assert work.masked <= work.pairs
        moved = work.bytes - 2 * 4 * work.masked
        assert FALL * moved >= most
        most = max(most, moved)
