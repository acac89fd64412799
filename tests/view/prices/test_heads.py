"""The price of a head: the narrowest window, its share of FLOPs and what it moves, as defined."""

from dataclasses import replace

import pytest
import torch
from tests.view.prices import brute

from attncost import Causal, Full, Longformer, ShapeError, Window, explain
from attncost.view.prices.heads import head_prices
from attncost.view.statistics.statistics import statistics

SLOPES = torch.tensor([2.0, 0.3, 0.1, 0.08], dtype=torch.float64)
REAL = torch.arange(brute.N)[None] < 280
DOCUMENTS = torch.cat([torch.zeros(1, 30), torch.ones(1, 270)], 1).long()
FUTURE = torch.full((1, 1, brute.N, brute.N), -torch.inf, dtype=torch.float64).triu(1)
CALLS = {
    "full": (Full(), {}),
    "causal": (Causal(), {}),
    "window": (Window(280), {}),
    "cap": (Causal(), {"softcap": 1.5}),
    "padding": (Full(), {"key_mask": REAL}),
    "documents": (Causal(), {"segments": DOCUMENTS}),
    "a complete causal mask": (Full(), {"bias": FUTURE}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_window_is_the_narrowest_and_moves_what_dense_masks_say(name):
    pattern, wishes = CALLS[name]
    call = brute.seen(pattern, alibi=SLOPES, **wishes)
    counted = REAL if name == "padding" else torch.ones_like(REAL)
    every, own = brute.weights(call), brute.outputs(call)[:, :, counted[0]]
    prices = head_prices(call, brute.found_in(call, counted))
    assert [price.head for price in prices] == [10, 11, 12, 13]
    ahead = pattern == Full() and name != "a complete causal mask"
    for place, price in enumerate(prices):
        assert price.pattern is not None
        assert price.pattern.ahead == (price.width // 2 if ahead else 0)

        def held(window, place=place):
            mask = brute.reads(window, brute.N, brute.N)
            return float((every * mask)[0, place, counted[0]].sum(-1).mean())

        step = 1 + ahead
        narrower = Window(price.width - step, ahead=price.pattern.ahead - ahead)
        assert held(price.pattern) >= 0.95 > held(narrower)
        inside = brute.reads(price.pattern, brute.N, brute.N)
        after = brute.outputs(call, inside)[0, place, counted[0]]
        moves = float((after - own[0, place]).norm() / own[0, place].norm())
        assert price.moves == pytest.approx(moves, rel=1e-9)


@pytest.mark.parametrize("pattern", [Full(), Causal()], ids=str)
def test_a_share_counts_what_is_multiplied_and_not_what_a_causal_kernel_leaves_out(pattern):
    plain, n = brute.seen(pattern), brute.N
    price, *_ = head_prices(plain, brute.concentrated(plain, 15))
    assert price.width == (31 if pattern == Full() else 16)
    one = plain.q[:, :1]
    multiplied = explain(one, one, one, price.pattern).pairs[1]
    pairs = n * n if pattern == Full() else n * (n + 1) // 2
    assert price.share == multiplied / pairs < 1
    assert multiplied >= (brute.reads(price.pattern, n, n) & pattern.mask(n, n)).sum()


@pytest.mark.parametrize("pattern", [Full(), Causal()], ids=str)
def test_first_tokens_that_hold_the_mass_are_read_besides(pattern):
    slopes = -SLOPES[None, :, None, None] * brute.apart(brute.N, brute.N).abs()
    call = brute.seen(pattern, bias=torch.where(torch.arange(brute.N) < 2, 3.0, slopes))
    every, own = brute.weights(call), brute.outputs(call)
    price = head_prices(call, brute.found_in(call))[1]
    assert isinstance(price.pattern, Longformer)
    assert price.pattern.tokens == 4
    inside = brute.reads(price.pattern, brute.N, brute.N)
    held = (every * inside)[0, 1].sum(-1).mean()
    assert 0.95 <= held < 0.99
    after = brute.outputs(call, inside)
    moves = float((after - own)[0, 1].norm() / own[0, 1].norm())
    assert price.moves == pytest.approx(moves, rel=1e-9)
    assert 2 * price.pattern.width <= price.width
    spelled = f"ac.Longformer({price.pattern.width}, tokens=4"
    assert "and on the first 4 tokens (a window alone takes" in price.sentence
    assert f": {spelled}" in price.sentence
    marked = replace(call, wishes=call.wishes | {"key_mask": torch.arange(brute.N)[None] > 0})
    price = head_prices(marked, brute.found_in(marked))[1]
    assert not isinstance(price.pattern, Longformer), "it would count from the padding"


def test_a_sequence_is_priced_as_if_it_were_alone():
    masks = torch.stack([REAL[0], torch.ones_like(REAL[0])])
    bias = torch.randn(2, 4, 1, brute.N, generator=torch.Generator().manual_seed(1)).double()
    call = brute.seen(Causal(), batch=2, alibi=SLOPES, key_mask=masks, bias=bias)
    together = head_prices(call, brute.found_in(call), sequence=1)
    wishes = {"alibi": SLOPES, "key_mask": masks[1:], "bias": bias[1:]}
    alone = replace(call, q=call.q[1:], k=call.k[1:], v=call.v[1:], wishes=wishes)
    assert together == head_prices(alone, brute.found_in(alone))
    assert together != head_prices(call, brute.found_in(call), sequence=0)


@pytest.mark.parametrize("name", ["documents", "padding", "cap"])
def test_statistics_found_block_by_block_give_the_same_prices(name):
    pattern, wishes = CALLS[name]
    call = brute.seen(pattern, alibi=SLOPES, sink=1 - SLOPES, **wishes)
    counted = REAL if name == "padding" else None
    found = statistics(call.q, call.k, call.v, call.pattern, query_mask=counted, **call.wishes)
    prices = head_prices(call, found)
    assert prices == head_prices(call, brute.found_in(call, counted))
    assert any(price.pattern is not None for price in prices)


def sentence(call, **dials):
    return head_prices(call, brute.found_in(call), **dials)[0].sentence


def test_a_sentence_says_where_the_mass_lies_and_what_a_window_costs_and_moves():
    call = brute.seen(Causal(), alibi=SLOPES)
    price = head_prices(call, brute.found_in(call), mass=0.9)[1]
    assert price.sentence == (
        f"90 % of its mass lies within {price.width} tokens: a window would cost "
        f"{price.share:.3f} x and move the output by {100 * price.moves:.1f} %."
    )
    price = head_prices(replace(call, v=None), brute.found_in(call), mass=0.9)[1]
    assert price.moves is None
    assert price.sentence.endswith(f"a window would cost {price.share:.3f} x.")


def test_a_head_that_reads_its_own_token_needs_a_window_of_one():
    itself = torch.where(brute.apart(brute.N, brute.N) == 0, 30.0, 0.0)[None, None].double()
    for pattern in (Full(), Causal()):
        price = head_prices(*called(brute.seen(pattern, bias=itself)))[0]
        assert (price.width, price.pattern) == (1, Window(1))
        assert price.sentence.startswith("95 % of its mass lies on the token itself: a window")
    short = brute.seen(Causal(), n=64, bias=itself[..., :64, :64])
    assert sentence(short) == (
        "95 % of its mass lies on the token itself, but no window is cheaper at 64 tokens."
    )


def called(call):
    return call, brute.found_in(call)


def test_a_head_that_reads_the_first_token_alone_needs_no_window_beside_it():
    first = torch.where(torch.arange(brute.N) == 0, 30.0, 0.0)[None, None, None].double()
    price = head_prices(*called(brute.seen(Causal(), bias=first)))[0]
    assert price.pattern == Longformer(1, tokens=4, ahead=0)
    assert price.moves < 1e-9
    assert price.sentence.startswith(
        "95 % of its mass lies on the token itself and on the first 4 tokens (a window alone takes "
        "285 of 300 tokens): ac.Longformer(1, tokens=4) would cost "
    )


def test_nothing_is_offered_where_a_window_would_have_to_be_as_long_as_the_text():
    flat = brute.seen(Causal(), spread=0.0)
    price = head_prices(*called(flat))[0]
    assert (price.pattern, price.share, price.moves) == (None, None, None)
    assert price.sentence == (
        f"95 % of its mass takes {price.width} of 300 tokens: no window is cheaper."
    )
    # Beyond 233 tokens lie (299 - 233) (300 - 233) of 300² pairs, 4.9 %; beyond 232 5.1 %.
    assert sentence(brute.seen(Full(), spread=0.0)) == (
        "95 % of its mass takes 233 of 299 tokens on each side: no window is cheaper."
    )
    assert sentence(brute.seen(Causal(), n=1)) == (
        "95 % of its mass takes 1 of 1 token: no window is cheaper."
    )


def test_one_query_at_the_end_of_a_cache_looks_back_alone():
    price = head_prices(*called(brute.seen(Full(), n=1, m=40)))[0]
    assert price.pattern == Window(price.width)
    assert price.share == price.width / 40 < 1


def test_keys_of_another_sequence_have_no_window():
    price = head_prices(*called(brute.seen(Full(), n=5, m=9, cross=True)))[0]
    assert (price.head, price.pattern, price.width) == (10, None, None)
    assert price.sentence == (
        "Its keys come from another sequence, where distance means nothing: no window fits."
    )


def test_a_head_that_reads_nothing_has_no_price():
    hidden = torch.zeros(1, 20, dtype=torch.bool)
    assert sentence(brute.seen(Full(), n=20, key_mask=hidden)) == (
        "None of its queries that count reads anything: there is nothing to price."
    )
    call = brute.seen(Full(), n=20)
    prices = head_prices(call, brute.found_in(call, hidden))
    assert {price.sentence[:4] for price in prices} == {"None"}


@pytest.mark.parametrize("value", [0.0, torch.inf])
def test_an_output_of_zero_or_infinity_moves_by_no_share_of_it(value):
    call = brute.seen(Causal(), alibi=SLOPES)
    price = head_prices(replace(call, v=torch.full_like(call.v, value)), brute.found_in(call))[1]
    assert price.share is not None
    assert price.moves is None


@pytest.mark.parametrize(("mass", "sequence"), [(0.0, 0), (1.1, 0), (0.95, 1), (0.95, -1)])
def test_what_is_no_share_or_sequence_is_refused(mass, sequence):
    call = brute.seen(Causal(), n=4)
    with pytest.raises(ShapeError, match="must"):
        head_prices(call, brute.found_in(call), mass=mass, sequence=sequence)


@pytest.mark.parametrize(
    "other",
    [{"n": 5}, {"n": 4, "m": 6}, {"n": 4, "heads": (2, 2)}, {"n": 4, "batch": 2}],
    ids=["queries", "keys", "heads", "sequences"],
)
def test_statistics_of_another_call_are_refused(other):
    call = brute.seen(Full(), n=4)
    with pytest.raises(ShapeError, match=r"'layer' with .* = \(1, 4, 4, 4\), got some of"):
        head_prices(call, brute.found_in(brute.seen(Full(), **other)))
