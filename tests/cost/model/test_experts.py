"""A mixture of experts, against one written out with torch."""

from dataclasses import replace

import pytest
import torch
from tests.cost.model.saved import flops, saved
from torch.nn.functional import silu

from attncost.core.counts import symbol
from attncost.cost.model.dense import Dense
from attncost.cost.model.experts import Experts

D = 16
ONE = Dense(d_model=D, hidden=24, gated=True)
SHARED = Dense(d_model=D, hidden=40, gated=True)
ROUTED = Experts(expert=ONE, experts=7, active=3)
ALL = [ROUTED, replace(ROUTED, shared=SHARED), replace(ROUTED, shared=SHARED, shared_gate=True)]


def matrix(rows, columns):
    return torch.randn(rows, columns, requires_grad=True)


def written(feed):
    """Return a mixture of experts as a function of tokens, and all that it learns."""
    router, gate = matrix(D, feed.experts), matrix(D, 1)
    each = [
        (matrix(D, ONE.hidden), matrix(D, ONE.hidden), matrix(ONE.hidden, D))
        for _ in range(feed.experts)
    ]
    shared = (matrix(D, SHARED.hidden), matrix(D, SHARED.hidden), matrix(SHARED.hidden, D))

    def pass_through(x, matrices):
        scale, up, down = matrices
        return (silu(x @ scale) * (x @ up)) @ down

    def mixed(x):
        weights, visited = torch.softmax(x @ router, dim=-1).topk(feed.active)
        # All visits of one expert after the other, and back to the order of tokens.
        order = visited.flatten().argsort(stable=True)
        found = torch.cat(
            [
                pass_through(x[torch.where(visited == i)[0]], matrices)
                for i, matrices in enumerate(each)
            ]
        )
        found = found * weights.flatten()[order, None]
        total = found[order.argsort()].unflatten(0, (-1, feed.active)).sum(1)
        if feed.shared is None:
            return total
        beside = pass_through(x, shared)
        return total + (torch.sigmoid(x @ gate) * beside if feed.shared_gate else beside)

    learned = [router, *(one for matrices in each for one in matrices)]
    learned += list(shared) if feed.shared else []
    learned += [gate] if feed.shared_gate else []
    return mixed, learned


@pytest.mark.parametrize("feed", ALL, ids=range(3))
def test_flops_parameters_and_what_is_kept_are_those_of_torch(feed, generator):
    mixed, learned = written(feed)
    assert feed.learned == sum(one.numel() for one in learned)
    x = torch.randn(29, D, generator=generator, requires_grad=True)
    assert feed.cost(29).useful == feed.cost(29).dense == flops(mixed, x)
    assert feed.matrices == flops(mixed, x[:1]) // 2
    assert feed.kept(29) == saved(mixed, [x], learned)


def test_a_token_uses_the_experts_that_it_visits():
    biased = replace(ROUTED, expert=replace(ONE, biased=True), router_bias=True)
    one = 3 * D * 24 + 2 * 24 + D
    assert biased.learned == 7 * one + D * 7 + 7
    assert biased.used == 3 * one + D * 7 + 7
    everything = replace(biased, active=7)
    assert everything.used == everything.learned


def test_the_formula_in_symbols_gives_the_numbers():
    n, experts, active = symbol("n"), symbol("E"), symbol("k")
    formula = Experts(expert=ONE, experts=experts, active=active, shared=SHARED, shared_gate=True)
    numbers = {n: 29, experts: 7, active: 3}
    for of in (lambda feed, m: feed.cost(m).useful, lambda feed, m: feed.kept(m)):
        assert of(formula, n).subs(numbers) == of(ALL[2], 29)
