"""Composed patterns against the sets of pairs that they are made of."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import PATTERNS, every_size

from attncost import Causal, Full, Window, pattern
from attncost.core.counts import symbol
from attncost.patterns.custom import Custom

WINDOW, GLOBAL = Window(16), pattern("global_tokens", tokens=5)


@every_size
def test_operators_are_those_of_sets(n, m):
    a, b = WINDOW.mask(n, m), GLOBAL.mask(n, m)
    assert torch.equal((WINDOW & GLOBAL).mask(n, m), a & b)
    assert torch.equal((WINDOW | GLOBAL).mask(n, m), a | b)
    assert torch.equal((~WINDOW).mask(n, m), ~a)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(PATTERNS), st.sampled_from(PATTERNS), st.integers(1, 90), st.integers(1, 90))
def test_any_two_can_be_composed(a, b, n, m):
    for composed in (a & b, a | b, ~a):
        mask = composed.mask(n, m)
        assert composed.pairs(n, m) == int(mask.sum())
        held = torch.zeros(n, m, dtype=torch.int64)
        for part in composed.parts(n, m, 16):
            for queries, spans in part.tiles:
                rows = torch.tensor(queries)[:, None]
                for keys, full in spans:
                    inside = part.allowed(rows, torch.tensor(keys)).expand(len(queries), len(keys))
                    assert inside.all() or not full
                    held[rows - (m - n), torch.tensor(keys)] += inside
        assert torch.equal(held, mask.long())


def test_a_formula_with_a_closed_form_keeps_it():
    n = symbol("n")
    assert (~Causal()).pairs(n, n).expand() == (n * (n - 1) / 2).expand()


def test_a_union_counts_what_both_read_once():
    assert (WINDOW | Window(4)).pairs(1000, 1000) == WINDOW.pairs(1000, 1000)
    assert (Causal() | ~Causal()).pairs(70, 50) == 70 * 50


def test_relative_patterns_are_counted_by_distance():
    n = 10**6
    assert (Full() & Causal()).pairs(n, n) == n * (n + 1) // 2
    assert (Window(33, ahead=16) & Causal()).pairs(n, n) == Window(17).pairs(n, n)


def executed(composed, n):
    tiles = (tile for part in composed.parts(n, n, 64) for tile in part.tiles)
    return sum(len(tile.queries) * sum(len(span.keys) for span in tile.spans) for tile in tiles)


def test_tiles_hold_little_more_than_is_read():
    n = 4096
    both = pattern("longformer", width=256, ahead=0) & Causal()
    for composed in (WINDOW & Full(), Full() & WINDOW, WINDOW | GLOBAL, both, ~Causal()):
        assert executed(composed, n) < 6 * composed.pairs(n, n)
    full = [
        span.full for part in both.parts(n, n, 64) for tile in part.tiles for span in tile.spans
    ]
    assert sum(full) > len(full) / 3, "most of the band stays full"


def test_what_is_composed_reads_as_it_is_written():
    assert str(Window() & Causal()) == "Window(width=256, ahead=0) & Causal()"
    assert str(~(Full() | Causal()) & ~Full()) == "~(Full() | Causal()) & ~Full()"
    assert str((Full() & Causal()) | Full()) == "(Full() & Causal()) | Full()"


def test_composed_patterns_are_values():
    assert Window() & Causal() == Window() & Causal() != Causal() & Window()
    assert len({~Full(), ~Full(), Full()}) == 2


def test_only_patterns_are_composed():
    with pytest.raises(TypeError, match="unsupported operand"):
        Full() & 3
    with pytest.raises(TypeError):
        Full() | torch.ones(3, 3, dtype=torch.bool)


def test_a_mask_can_be_composed():
    mask = torch.eye(20, dtype=torch.bool)
    assert torch.equal((Custom.of(mask) | Window(2)).mask(20, 20), Window(2).mask(20, 20))
