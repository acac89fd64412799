"""Patterns made of rules and masks, against the rules and masks."""

import pickle

import pytest
import torch

from attncost import Causal, ShapeError, Window
from attncost.core.counts import symbol
from attncost.mechanisms.spelling import known, spelled, spelling
from attncost.patterns.custom import Custom


def divides(query, key):
    return (query + 1) % (key + 1) == 0


def document(batch, head, q_idx, kv_idx):
    """Two documents, as in the examples of flex attention: a table is looked up."""
    of = torch.tensor([0] * 30 + [1] * 34)
    return (of[q_idx] == of[kv_idx]) & (q_idx >= kv_idx)


def test_a_rule_says_which_pairs_are_read():
    divisors = [sum(number % by == 0 for by in range(1, number + 1)) for number in range(1, 41)]
    assert Custom(divides).pairs(40, 40) == sum(divisors)
    assert Custom(divides).pairs(1, 40) == divisors[-1]


def test_equal_rules_make_equal_patterns():
    assert Custom(divides) == Custom(divides)
    assert Custom.from_flex(document) == Custom.from_flex(document) != Custom(divides)
    assert len({Custom(divides), Custom(divides), Custom.from_flex(document)}) == 2


def test_a_mask_mod_of_flex_keeps_its_meaning():
    row, column = torch.arange(64)[:, None], torch.arange(64)
    expected = (row >= column) & ((row < 30) == (column < 30))
    assert torch.equal(Custom.from_flex(document).mask(64, 64), expected)


def test_a_mask_mod_asks_where_a_query_stands_when_there_are_fewer_than_keys():
    causal = Custom.from_flex(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx)
    assert torch.equal(causal.mask(3, 50), Causal().mask(3, 50))


def test_going_to_flex_and_back_changes_nothing():
    window = Window(9, ahead=4)
    back = Custom.from_flex(window.mask_mod(50, 50))
    assert torch.equal(back.mask(50, 50), window.mask(50, 50))


@pytest.mark.parametrize(("n", "m"), [(13, 13), (5, 21), (21, 5), (1, 1), (0, 3), (3, 0)])
def test_a_mask_is_kept_bit_for_bit(n, m, generator):
    mask = torch.rand(n, m, generator=generator) < 0.4
    kept = Custom.of(mask)
    assert torch.equal(kept.mask(n, m), mask)
    assert kept.pairs(n, m) == int(mask.sum())
    assert kept == Custom.of(mask.clone())
    assert hash(kept) == hash(pickle.loads(pickle.dumps(kept)))
    assert mask.numel() == 0 or kept != Custom.of(~mask)


def test_fewer_tokens_than_a_mask_has_read_what_stands_in_it(generator):
    mask = torch.rand(20, 30, generator=generator) < 0.4
    assert torch.equal(Custom.of(mask).mask(1, 30), mask[-1:])
    assert torch.equal(Custom.of(mask).mask(8, 18), mask[:8, :18])


@pytest.mark.parametrize(("n", "m"), [(21, 30), (20, 31), (40, 40)])
def test_positions_outside_of_a_mask_are_refused(n, m):
    kept = Custom.of(torch.ones(20, 30, dtype=torch.bool))
    for ask in (kept.pairs, kept.mask, lambda n, m: kept.parts(n, m, 16)):
        with pytest.raises(ShapeError, match="a mask of 20 queries and 30 keys"):
            ask(n, m)


def test_looking_finds_what_is_empty_and_what_is_full():
    mask = torch.zeros(64, 100, dtype=torch.bool)
    mask[:16, :32] = True
    mask[16:32, 48:64] = mask[20, 70] = mask[32:, 90:] = True
    (part,) = Custom.of(mask).parts(64, 100, 16)
    found = {rows.start - 36: [(s.keys, s.full) for s in spans] for rows, spans in part.tiles}
    assert found == {
        0: [(range(32), True)],
        16: [(range(48, 64), True), (range(64, 80), False)],
        32: [(range(80, 96), False), (range(96, 100), True)],
        48: [(range(80, 96), False), (range(96, 100), True)],
    }


def test_a_formula_holds_a_rule_as_a_node():
    n = symbol("n")
    assert Custom(divides).pairs(n, n).subs(n, 40) == Custom(divides).pairs(40, 40)


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (lambda query, key: key - query, r"rule must return a boolean tensor, got torch\.int64"),
        (lambda query, key: True, "rule must return a boolean tensor, got bool"),
        (
            lambda query, key: (key <= query)[None],
            r"one value a pair, so shape \(4, 5\), got \(1, 4, 5\)",
        ),
    ],
)
def test_a_rule_that_is_none_is_explained(rule, reason):
    with pytest.raises(ShapeError, match=reason):
        Custom(rule).mask(4, 5)


def test_other_mistakes_are_explained():
    mask = torch.ones(3, 3)
    with pytest.raises(ShapeError, match=r"mask must be boolean .* got torch.float32 of shape"):
        Custom.of(mask)
    with pytest.raises(ShapeError, match=r"got torch.bool of shape \(1, 3, 3\)"):
        Custom.of(mask.bool()[None])


def test_it_cannot_be_spelled():
    assert "custom" not in known()
    with pytest.raises(ShapeError, match="custom takes more than numbers: make it in Python"):
        spelled("custom:rule=3")
    assert spelling(Custom(divides)) == str(Custom(divides))
