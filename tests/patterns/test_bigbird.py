"""BigBird against its paper: how many blocks are read, and that random ones are drawn evenly."""

import itertools
from collections import Counter

import pytest
import torch

from attncost import ShapeError
from attncost.patterns.bigbird import BigBird


def blocks_read(pattern, n):
    """Return the blocks that each block of queries reads, by looking at the mask."""
    size, many = pattern.block, n // pattern.block
    mask = pattern.mask(n, n).view(many, size, many, size)
    assert torch.equal(mask.any(3).any(1), mask.all(3).all(1)), "blocks are read whole or not"
    return [set(row.nonzero().flatten().tolist()) for row in mask.any(3).any(1)]


def drawn(pattern, n):
    """Return what each block of queries reads that is neither global nor near."""
    half, hub = pattern.window_blocks // 2, set(range(pattern.global_blocks))
    return [
        read - hub - set(range(at - half, at + half + 1))
        for at, read in enumerate(blocks_read(pattern, n))
        if at not in hub
    ]


def test_a_query_reads_eight_blocks_as_in_the_base_model_of_the_paper():
    """Zaheer et al. 2020, appendix E: blocks of 64, 2 global, 3 in the window, 3 random."""
    read = blocks_read(BigBird(), 4096)
    assert [len(row) for row in read[:2]] == [64, 64]
    assert [len(row) for row in read[3:-1]] == [8] * 60


@pytest.mark.parametrize("random_blocks", [1, 3, 8])
def test_random_blocks_differ_from_each_other_and_from_all_others(random_blocks):
    found = drawn(BigBird(2, random_blocks=random_blocks, longest=128), 128)
    assert {len(row) for row in found} == {random_blocks}


def test_where_fewer_blocks_are_left_all_are_read():
    pattern = BigBird(4, random_blocks=50, longest=48)
    assert all(read == set(range(12)) for read in blocks_read(pattern, 48))


def test_every_set_of_blocks_is_drawn_equally_often():
    """Block 5 of 9 draws 2 of the 5 blocks left: 10 sets, each in a tenth of all seeds."""
    seeds = 1000
    found = Counter(
        frozenset(drawn(BigBird(1, 3, 2, 1, seed=seed, longest=9), 9)[4]) for seed in range(seeds)
    )
    assert set(found) == {frozenset(two) for two in itertools.combinations([1, 2, 3, 7, 8], 2)}
    expected = seeds / 10
    chi_square = sum((count - expected) ** 2 / expected for count in found.values())
    assert chi_square < 27.9, "9 degrees of freedom exceed this once in a thousand"


def test_blocks_of_one_pattern_draw_apart():
    """All 8192 draws of a long sequence, in 8 equal stretches of blocks, within 5 deviations."""
    pattern = BigBird(1, 1, 8, 0, longest=1024)
    places = Counter(block // 128 for row in drawn(pattern, 1024) for block in row)
    assert all(abs(places[stretch] - 1024) < 5 * (8192 * 7 / 64) ** 0.5 for stretch in range(8))


def test_what_is_drawn_does_not_depend_on_the_length():
    pattern = BigBird(8, longest=128)
    assert torch.equal(pattern.mask(512, 512)[:128, :128], pattern.mask(128, 128))
    rows = [set(), set(), *drawn(pattern, 512)]
    far = [max(set.union(*rows[at : 2 * at])) for at in (8, 16, 32)]
    assert far[0] < 16 <= far[1] < 32 <= far[2] < 64


def test_a_seed_names_one_pattern_on_every_machine():
    """Kept from the first version: a changed draw would change what trained models read."""
    assert [sorted(row) for row in drawn(BigBird(1, longest=16), 16)[:4]] == [
        [4, 8, 11],
        [6, 7, 15],
        [7, 9, 15],
        [3, 9, 12],
    ]
    assert drawn(BigBird(1, seed=1, longest=16), 16) != drawn(BigBird(1, longest=16), 16)


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_positions_of_any_whole_kind_read_the_same(kind):
    query, key = torch.arange(300, dtype=kind)[:, None], torch.arange(300, dtype=kind)
    pattern = BigBird(16, longest=300)
    assert torch.equal(pattern.allowed(query, key), pattern.mask(300, 300))


def test_pairs_at_a_million_tokens_without_looking_at_each():
    """A million is 15,625 blocks, and each reads 8 but where the window meets an edge.

    Draws among 16,384 blocks may lie beyond the end and are lost then.
    """
    n = 10**6
    most = 64 * 64 * (2 * 15_625 + 15_623 * 8)
    assert 0.95 * most < BigBird().pairs(n, n) < most
    assert BigBird(longest=n).pairs(n, n) == most - 64 * 64 * 2, "blocks 2 and the last"


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"block": 0}, "block must be at least 1, got 0"),
        ({"window_blocks": 2}, "window_blocks must be odd .*, got 2"),
        ({"random_blocks": -1}, "random_blocks must be at least 0, got -1"),
        ({"seed": 1 << 32}, "seed must be at most 4294967295, got 4294967296"),
    ],
)
def test_mistakes_are_explained(wrong, reason):
    with pytest.raises(ShapeError, match=reason):
        BigBird(**wrong)
