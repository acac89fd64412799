"""Figures over texts: their intervals, neighbours, and what is told of tokens."""

import numpy as np
import pytest
import torch

from attncost.train.quality.models.intervals import mean_of, share_of
from attncost.train.quality.models.next_tokens import heard, token_change
from attncost.train.quality.models.rank_correlation import correlation
from attncost.train.quality.models.states import Moves
from attncost.train.quality.models.vectors import pooled, vector_change


def test_an_interval_of_a_mean_is_that_of_texts_drawn_again():
    numbers = np.random.default_rng(0)
    sums, counts = numbers.random(12) * 9, numbers.integers(1, 9, 12)
    found = mean_of(sums.tolist(), counts.tolist())
    drawn = numbers.integers(0, 12, (20_000, 12))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    low, high = np.quantile(means, [0.025, 0.975])
    assert found.value == pytest.approx(sums.sum() / counts.sum())
    assert (found.low, found.high) == pytest.approx((low, high), rel=0.03)
    assert mean_of([3.0]).low is None
    assert mean_of([1.0, 1.0]).high == 1


def test_a_share_has_the_interval_of_wilson():
    # Wilson 1927, by its formula: 9 of 10 at 95 %.
    z, n, p = 1.959964, 10, 0.9
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    found = share_of([True] * 9 + [False])
    assert (found.value, found.low, found.high) == pytest.approx((p, middle - half, middle + half))
    assert share_of([True] * 10).low < 0.8, "ten texts are no proof"


def test_neighbours_are_counted_by_hand():
    east, north = [1.0, 0.0], [0.0, 1.0]
    was = torch.tensor([east, [0.9, 0.1], north, [0.1, 0.9], [0.7, 0.7]])
    now = was.clone()
    now[1] = torch.tensor([0.1, 0.95])
    found = vector_change(was, now)
    # The nearest of 0 was 1 and is 4; that of 1 was 0 and is 3; of 2 it was 3 and is 1; of 3 it was
    # 2 and is 1; that of 4 was and is 1 or 3, which are as near as each other.
    assert found.nearest.value in (0, 0.2)
    assert found.worst_text == 1
    assert found.cosine.value == pytest.approx((4 + found.worst) / 5)
    assert vector_change(was[:2], now[:2]).nearest is None


@pytest.mark.parametrize(("pooling", "row"), [("cls", 0), ("last", 2)])
def test_vectors_are_pooled_as_their_name_says(pooling, row, generator):
    states = torch.randn(2, 3, 4, generator=generator)
    assert torch.equal(pooled(states, pooling), states[:, row])
    assert torch.allclose(pooled(states, "mean"), states.sum(1) / 3)


def test_the_likeliest_token_and_the_divergence_are_told_by_position():
    ids = torch.tensor([[0, 1, 0]])
    was = torch.tensor([[[0.0, 1.0], [2.0, 0.0], [9.0, 9.0]]])
    now = torch.tensor([[[0.0, 3.0], [0.0, 2.0], [0.0, 9.0]]])
    found = heard(was, now, ids)
    assert found.same.tolist() == [[True, False]]
    p, q = (np.exp(x) / np.exp(x).sum() for x in (np.array([0.0, 1.0]), np.array([0.0, 3.0])))
    assert found.divergence[0, 0].item() == pytest.approx((p * np.log(p / q)).sum())
    assert found.was[0].tolist() == pytest.approx([-np.log(p[1]), np.log1p(np.exp(-2))])
    change = token_change({0: found})
    assert change.same.value == 0.5
    assert [bucket.tokens for bucket in change.buckets] == [2]


def test_a_word_that_a_model_rules_out_does_not_spoil_the_divergence():
    logits = torch.tensor([[[0.0, -torch.inf], [0.0, 0.0]]])
    found = heard(logits, logits, torch.tensor([[0, 0]]))
    assert found.divergence.tolist() == [[0.0]]


def test_each_token_moves_in_its_own_size():
    was = torch.tensor([[[1000.0, 0.0], [1.0, 0.0]]])
    now = torch.tensor([[[1000.0, 0.0], [0.0, 1.0]]])
    moves = Moves()
    moves.add([was], [now])
    assert moves.by_block == pytest.approx((2**0.5 / 2,)), "not hidden by a token that is large"


def test_what_does_not_vary_has_no_correlation():
    rising = [(i / 10, float(i**2)) for i in range(20)]
    assert correlation(rising) == (pytest.approx(1.0), 20)
    assert correlation([(0.0, 1.0)] * 25) is None
    assert correlation(rising[1:]) is None, "fewer agree by chance"
