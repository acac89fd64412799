"""Whether a pattern reads ahead, beside its dense mask."""

import pytest
import torch
from tests.every import LENGTHS, every_pattern

from attncost import Block, Causal, Custom, MemoryMonitor, ShapeError, Window, pattern
from attncost.nn.ahead import reads_ahead


@every_pattern
def test_it_is_what_the_dense_mask_shows_above_its_diagonal(pattern):
    for n in [*LENGTHS, 3, 16, 17, 33]:
        try:
            above = bool(pattern.mask(n, n).triu(1).any())
        except ShapeError:
            with pytest.raises(ShapeError):
                reads_ahead(pattern, n)
        else:
            assert reads_ahead(pattern, n) == above


@pytest.mark.parametrize("where", [(0, 1), (3, 90), (80, 90), (98, 99)])
def test_a_single_pair_is_found_from_the_length_on_that_holds_it(where):
    mask = torch.ones(100, 100, dtype=torch.bool).tril()
    assert not reads_ahead(Custom.of(mask))
    mask[where] = True
    once = Custom.of(mask)
    assert [n for n in range(1, 101) if reads_ahead(once, n)] == list(range(where[1] + 1, 101))
    assert reads_ahead(once)
    with pytest.raises(ShapeError, match="mask of 100 queries"):
        reads_ahead(once, 101)


def test_without_a_length_a_thousand_tokens_decide_or_all_that_a_layout_covers():
    assert reads_ahead(Block(32, ((0,), (0,))))
    assert not reads_ahead(Block(32, ((), ())))
    assert reads_ahead(Window(1024, ahead=1023))
    assert reads_ahead(Custom(lambda query, key: key == query + 1000))
    assert not reads_ahead(Custom(lambda query, key: key == query + 1024))


def test_long_sequences_are_not_looked_at_pair_by_pair():
    sparse = [pattern("bigbird"), pattern("global_tokens") | Window(256), pattern("fixed")]
    with MemoryMonitor("cpu") as monitor:
        for one in sparse:
            assert not reads_ahead(one & Causal(), 1 << 12)
    assert monitor.peak < 1 << 23, "the dense mask takes 16 MiB"
