"""Each text is given once in an epoch, whatever the ranks, and no rank waits for ever."""

from itertools import pairwise
from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.batches.group import in_group
from torch.utils.data import DataLoader, DistributedSampler

from attncost.batches import ways
from attncost.batches.sampler import BatchSampler, Share
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded
from attncost.core.errors import ShapeError

some_lengths = st.lists(st.integers(0, 40), min_size=1, max_size=40)
any_way = st.sampled_from([way for name in ways.names() for way in ways.load(name).examples()])
SKEWED = [int(Random(i).lognormvariate(3, 1)) + 1 for i in range(1000)]


def dealt(lengths, way, ranks, *, epoch=0, **options):
    """Return what each rank is given."""
    given = []
    for rank in range(ranks):
        sampler = BatchSampler(lengths, way, share=Share(rank=rank, ranks=ranks), **options)
        sampler.set_epoch(epoch)
        given.append(list(sampler))
        assert len(given[-1]) == len(sampler)
    return given


def batches_of(given):
    return [batch for batches in given for batch in batches]


def texts(given):
    return [text for batch in batches_of(given) for text in batch]


@given(
    lengths=some_lengths,
    way=any_way,
    ranks=st.integers(1, 7),
    epoch=st.integers(0, 3),
    shuffle=st.booleans(),
)
def test_each_text_is_given_once_and_as_many_batches_to_each_rank(
    lengths, way, ranks, epoch, shuffle
):
    ranks = min(ranks, len(lengths))
    given = dealt(lengths, way, ranks, epoch=epoch, shuffle=shuffle)
    assert sorted(texts(given)) == list(range(len(lengths)))
    assert len({len(batches) for batches in given}) == 1
    assert all(batch for batches in given for batch in batches)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("way", [Padded(8), Packed(200)])
def test_epochs_differ_and_come_again_with_the_same_seed(way, ranks):
    lengths = SKEWED[:100]
    first = dealt(lengths, way, ranks)
    assert dealt(lengths, way, ranks) == first
    others = [dealt(lengths, way, ranks, epoch=1), dealt(lengths, way, ranks, seed=1)]
    for other in [*others, dealt(lengths, way, ranks, epoch=1, seed=1)]:
        assert sorted(texts(other)) == list(range(100))
        # Other texts share a batch, rather than the same ones in another order.
        known = {frozenset(batch) for batches in first for batch in batches}
        assert sum(frozenset(batch) in known for batch in batches_of(other)) < len(known) / 4
    assert others[0] != others[1]


def test_without_shuffling_batches_come_as_the_way_makes_them():
    lengths = SKEWED[:30]
    made = [list(batch.texts) for batch in Packed(100).batches(lengths, range(30))]
    assert dealt(lengths, Packed(100), 1, epoch=5, shuffle=False) == [made]
    by_threes = dealt(lengths, Padded(5), 3, shuffle=False)
    assert by_threes == [
        [[*range(i, i + 5)] for i in (5 * rank, 15 + 5 * rank)] for rank in range(3)
    ]


def test_the_dearest_batch_is_split_in_its_place_until_the_ranks_divide_them():
    # Slots of the batches: 8, 36, 4. One of the halves of 18 is split again for 5 ranks.
    lengths = [2, 2, 1, 1, 9, 9, 1, 1, 1, 1, 1, 1]
    pieces = [[0, 1, 2, 3], [4, 5], [6, 7], [8, 9, 10, 11]]
    assert dealt(lengths, Padded(4), 2, shuffle=False) == [pieces[::2], pieces[1::2]]
    pieces[1:2] = [[4], [5]]
    assert dealt(lengths, Padded(4), 5, shuffle=False) == [[piece] for piece in pieces]


def test_a_packed_row_is_split_between_texts_where_its_halves_are_most_alike():
    assert dealt([1, 1, 1, 7, 2], Packed(12), 2, shuffle=False) == [[[0, 1, 2]], [[3, 4]]]
    assert dealt([9, 1, 1], Packed(12), 3, shuffle=False) == [[[0]], [[1]], [[2]]]


def test_where_no_text_is_left_to_split_off_the_cheapest_neighbours_are_joined():
    # Five texts are no four batches, and six batches of one would need a sixth text.
    given = dealt([9, 5, 3, 2, 8], Padded(1), 2, shuffle=False)
    assert given == [[[0], [2, 3]], [[1], [4]]]
    assert dealt([1] * 7, Padded(1), 4, shuffle=False) == [[[0, 1]], [[2, 3]], [[4, 5]], [[6]]]


@pytest.mark.parametrize("texts", [0, 2])
def test_fewer_texts_than_ranks_are_refused_with_what_to_do(texts):
    with pytest.raises(
        ShapeError, match=rf"got {texts} texts for 3 ranks: give at least 3"
    ) as error:
        BatchSampler([4] * texts, Padded(), share=Share(rank=1, ranks=3))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Share(rank=2, ranks=2), "rank must be from 0 to 1 of 2 ranks, got 2"),
        (lambda: Share(rank=-1, ranks=1), "got -1"),
        (lambda: Share(ranks=0), "ranks must be a whole number of at least 1, got 0"),
        (lambda: BatchSampler([3, -1], Padded()), "whole numbers of at least 0 .*, got -1: pass"),
        (
            lambda: BatchSampler([3], Padded()).set_epoch(2, skip=2),
            "the 1 batches of epoch 2, got 2",
        ),
        (lambda: BatchSampler([3], Padded()).set_epoch(0, skip=-1), "got -1"),
    ],
)
def test_what_cannot_be_is_refused(make, reason):
    with pytest.raises(ShapeError, match=reason) as error:
        make()
    assert "\n" not in str(error.value)


def waiting(lengths, given):
    """Return the time of all steps, whose ranks wait for the dearest, over that of even ranks."""

    def cost(batch):  # padded, with a slot as dear as 4,608 pairs
        longest = max(lengths[text] for text in batch)
        return len(batch) * (4608 * longest + longest**2)

    steps = [[cost(batch) for batch in step] for step in zip(*given, strict=True)]
    return sum(map(max, steps)) * len(given) / sum(map(sum, steps))


@given(lengths=some_lengths, size=st.integers(1, 5), ranks=st.integers(1, 7), chance=st.randoms())
def test_ranks_wait_for_each_other_no_longer_than_with_the_same_batches_dealt_by_chance(
    lengths, size, ranks, chance
):
    lengths, ranks = [length + 1 for length in lengths], min(ranks, len(lengths))
    given = dealt(lengths, Padded(size), ranks)
    batches = batches_of(given)
    chance.shuffle(batches)
    by_chance = [batches[rank::ranks] for rank in range(ranks)]
    assert waiting(lengths, given) <= waiting(lengths, by_chance) * (1 + 1e-12)


def test_on_skewed_lengths_ranks_hardly_wait_and_steps_are_not_in_the_order_of_their_cost():
    way = ways.way("bucketed", size=8)
    alike = dealt(SKEWED, way, 4)
    batches = batches_of(alike)
    Random(0).shuffle(batches)
    by_chance = [batches[rank::4] for rank in range(4)]
    assert waiting(SKEWED, by_chance) > 1.5
    assert waiting(SKEWED, alike) < 1.1
    longest = [max(SKEWED[text] for text in batch) for batch in alike[0]]
    rises = sum(a < b for a, b in pairwise(longest))
    assert len(longest) / 4 < rises < len(longest) * 3 / 4
    # No rank has the dearest batch of each step.
    tokens = [sum(SKEWED[text] for batch in batches for text in batch) for batches in alike]
    assert max(tokens) < 1.1 * min(tokens)


def numbers(examples):
    return [int(example) for example in examples]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_gives_the_batches_and_after_a_restart_the_rest_of_them(workers):
    lengths = SKEWED[:40]

    def loading(sampler):
        return DataLoader(
            torch.arange(40), batch_sampler=sampler, collate_fn=numbers, num_workers=workers
        )

    sampler = BatchSampler(lengths, Packed(150), seed=3)
    loader = loading(sampler)
    sampler.set_epoch(2)
    whole = list(loader)
    assert len(loader) == len(whole) == len(sampler)
    assert whole == list(sampler)
    got = []
    for batch in loader:
        got.append(batch)
        if len(got) == 3:
            break  # Killed, when workers have fetched more than these.
    again = BatchSampler(lengths, Packed(150), seed=3)
    again.set_epoch(2, skip=len(got))
    rest = loading(again)
    assert len(rest) == len(whole) - 3
    assert [*got, *rest] == whole
    again.set_epoch(2, skip=len(whole))
    assert list(again) == []
    again.set_epoch(3)
    assert sorted(texts([again])) == list(range(40))


def test_a_distributed_sampler_gives_texts_twice_or_leaves_some_out_and_ours_does_neither():
    lengths, ranks = SKEWED[:10], 4

    def of_theirs(**options):
        samplers = [
            DistributedSampler(lengths, num_replicas=ranks, rank=rank, **options)
            for rank in range(ranks)
        ]
        return sorted(text for sampler in samplers for text in sampler)

    assert len(of_theirs()) == 12
    assert len(set(of_theirs())) == 10
    assert len(of_theirs(drop_last=True)) == len(set(of_theirs(drop_last=True))) == 8
    assert sorted(texts(dealt(lengths, Padded(1), ranks))) == list(range(10))


def test_the_share_is_what_the_group_of_processes_says_once_there_is_one():
    assert Share.current() == Share(rank=0, ranks=1)
    sampler = BatchSampler(SKEWED[:20], Padded(2))
    assert [list(sampler)] == dealt(SKEWED[:20], Padded(2), 1)
    with in_group(rank=1, ranks=2):
        assert list(sampler) == dealt(SKEWED[:20], Padded(2), 2)[1]
        with pytest.raises(ShapeError, match="got 1 texts for 2 ranks"):
            BatchSampler([3], Padded(2))


def test_a_loader_that_would_share_batches_out_once_more_is_not_prepared():
    shard = pytest.importorskip("accelerate.data_loader").BatchSamplerShard
    for share, shards in ((Share(rank=0, ranks=1), True), (Share(rank=1, ranks=2), False)):
        sampler = BatchSampler([3, 4, 5], Padded(1), share=share)
        loader = DataLoader([0, 1, 2], batch_sampler=sampler)
        assert len(list(loader)) == len(sampler), "a loader by itself does"
        if shards:
            assert shard(sampler, 1, 0).batch_size is None
            continue
        with pytest.raises(ShapeError, match=r"among 2 ranks: do not prepare .* BatchedDataset"):
            shard(sampler, 2, 1)


def test_an_epoch_is_a_whole_number():
    sampler = BatchSampler([3, 4], Padded(1))
    with pytest.raises(ShapeError, match="epoch must be a whole number of at least 0, got -1: "):
        sampler.set_epoch(-1)
