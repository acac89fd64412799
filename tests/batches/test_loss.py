"""Shares of micro-batches against one batch of all texts."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.batches.small import VOCABULARY, gradients, logits, made, some_texts
from tests.integrations.hf.zoo import ZOO
from torch.nn.functional import cross_entropy

import attncost as ac
from attncost import ShapeError
from attncost.batches.loss import across_ranks, counted_tokens, token_loss, token_shares
from attncost.batches.packing_collator import PackingCollator
from attncost.batches.padding_collator import PaddingCollator
from attncost.batches.ways.packed import Packed

COLLATORS = [
    PaddingCollator(labels="ids"),
    PaddingCollator(labels="ids", side="left"),
    PackingCollator(labels="ids", way=Packed(multiple=4)),
]
EXACT = {"atol": 1e-6, "rtol": 0}
some_cuts = st.lists(st.integers(0, 6), max_size=4)


def pieces(texts, cuts):
    edges = [0, *sorted(min(cut, len(texts)) for cut in cuts), len(texts)]
    return [texts[a:b] for a, b in pairwise(edges) if a < b]


def by_hand(model, texts):
    """Return the mean over all next tokens of all texts, each read alone."""
    losses = []
    for text in texts:
        if len(text) > 1:
            scores = logits(model, PackingCollator()([text]))[0]
            losses += [-scores[i].log_softmax(0)[text[i + 1]] for i in range(len(text) - 1)]
    return sum(losses) / len(losses) if losses else sum(p.sum() for p in model.parameters()) * 0


@settings(max_examples=25, deadline=None)
@given(texts=some_texts, cuts=some_cuts, collate=st.sampled_from(COLLATORS))
def test_gradients_of_micro_batches_add_up_to_those_of_all_texts(texts, cuts, collate):
    model = made()
    expected = by_hand(model, texts)
    wanted = gradients(model, expected)
    micro_batches = [collate(some) for some in pieces(texts, cuts)]
    tokens = across_ranks(sum(counted_tokens(batch["labels"]) for batch in micro_batches))
    losses = [
        token_loss(logits(model, batch), batch["labels"], tokens=tokens) for batch in micro_batches
    ]
    torch.testing.assert_close(sum(losses), expected.to(losses[0]), **EXACT)
    found = [gradients(model, loss) for loss in losses]
    for parts, whole in zip(zip(*found, strict=True), wanted, strict=True):
        torch.testing.assert_close(sum(parts), whole, **EXACT)


@pytest.mark.parametrize("collate", COLLATORS, ids=["right", "left", "packed"])
def test_mean_losses_of_a_llama_add_up_where_multiplied_by_their_shares(collate):
    model = ZOO["llama"](torch.float64)
    model.set_attn_implementation(ac.hf.register("shares_of_loss"))
    texts = [[5, 6, 7, 8, 9, 3, 4], [11], [12, 13], [], [2, 3, 4, 9, 9, 9, 1, 6]]
    packs = isinstance(collate, PackingCollator)
    names = ["input_ids", "labels", "position_ids" if packs else "attention_mask"]

    def mean_loss(batch):
        return model(**{name: batch[name] for name in names}, use_cache=False).loss

    expected = mean_loss(collate(texts))
    wanted = gradients(model, expected)
    for cuts in ([], [1], [1, 2], [3], [1, 2, 3, 4]):
        batches = [collate(some) for some in pieces(texts, cuts)]
        shares = token_shares([batch["labels"] for batch in batches])
        # Where nothing counts a mean is NaN, and transformers takes no batch of empty texts alone.
        parts = [mean_loss(x) * share for x, share in zip(batches, shares, strict=True) if share]
        torch.testing.assert_close(sum(parts), expected, **EXACT)
        found = zip(*(gradients(model, part) for part in parts), strict=True)
        for some, whole in zip(found, wanted, strict=True):
            torch.testing.assert_close(sum(some), whole, **EXACT)
    assert mean_loss(collate(texts[1:2])).isnan()


def scores(losses):
    """Return logits of two classes whose cross entropy with class 0 is as given."""
    behind = [[0.0, math.log(math.expm1(loss))] for loss in losses]
    return torch.tensor([behind], dtype=torch.float64)


def test_the_mean_of_means_is_not_the_mean_of_tokens():
    """https://github.com/huggingface/transformers/issues/24725, pull/34191, torchtune/pull/1875."""
    batches = [scores([1.0] * 10), scores([3.0])]
    labels = [torch.zeros(1, 10).long(), torch.zeros(1, 1).long()]
    means = [cross_entropy(x[0], y[0]) for x, y in zip(batches, labels, strict=True)]
    assert float(sum(means) / 2) == pytest.approx(2.0)
    shares = token_shares(labels, shifted=False)
    weighted = sum(mean * share for mean, share in zip(means, shares, strict=True))
    assert float(weighted) == pytest.approx(13 / 11)
    losses = [
        token_loss(x, y, tokens=11, shifted=False) for x, y in zip(batches, labels, strict=True)
    ]
    assert float(sum(losses)) == pytest.approx(13 / 11)
    assert round(float(sum(losses)), 4) == 1.1818


@pytest.mark.parametrize("shifted", [True, False])
@pytest.mark.parametrize("shape", [(1, 0), (2, 0), (1, 1), (2, 3)])
def test_where_nothing_counts_loss_and_gradient_are_zero(shape, shifted):
    said = torch.randn(*shape, VOCABULARY, requires_grad=True)
    labels = torch.full(shape, -100)
    for tokens in (0, 7):
        loss = token_loss(said, labels, tokens=tokens, shifted=shifted)
        assert loss.item() == 0
        (gradient,) = torch.autograd.grad(loss, said)
        assert not gradient.any()
        assert gradient.isfinite().all()
    assert token_shares([labels, labels], shifted=shifted) == [0, 0]


def test_a_rank_may_count_less_than_one_token_on_average():
    """One token on one of four ranks, which data parallelism divides by 4."""
    loss = token_loss(scores([3.0]), torch.zeros(1, 1).long(), tokens=1 / 4, shifted=False)
    assert float(loss / 4) == pytest.approx(3)


def test_sums_in_half_precision_do_not_overflow():
    said = torch.zeros(1, 40_000, 8, dtype=torch.float16)  # of which each costs log 8
    loss = token_loss(said, torch.zeros(1, 40_000).long(), tokens=40_000, shifted=False)
    assert float(loss) == pytest.approx(math.log(8), rel=1e-4)


def test_another_label_may_be_the_one_that_does_not_count():
    labels = torch.tensor([[1, 0, 1]])
    assert counted_tokens(labels, ignore=0) == 1
    assert token_shares([labels, labels[:, 1:]], ignore=0) == [0.5, 0.5]
    said = torch.randn(1, 3, 2, dtype=torch.float64)
    expected = cross_entropy(said[0, 1:2], labels[0, 2:])
    torch.testing.assert_close(token_loss(said, labels, tokens=1, ignore=0), expected)


def test_tokens_that_are_none_where_labels_count_are_refused():
    with pytest.raises(ShapeError, match="got 0 where 2 count: add up counted_tokens"):
        token_loss(torch.zeros(1, 3, 4), torch.zeros(1, 3).long(), tokens=0)


def test_without_ranks_the_tokens_of_all_ranks_are_its_own():
    assert across_ranks(11) == 11.0


@pytest.mark.parametrize("tokens", [0, -1, math.nan])
def test_shares_and_losses_of_no_number_of_tokens_are_refused(tokens):
    labels = torch.zeros(1, 3).long()
    for refused in (
        lambda: token_shares([labels], tokens=tokens),
        lambda: token_loss(torch.zeros(1, 3, 4), labels, tokens=tokens),
    ):
        with pytest.raises(ShapeError, match=f"got {tokens} where 2 count: add up counted_tokens"):
            refused()
    assert token_shares([labels[:, :1]], tokens=tokens) == [0]


def test_labels_may_be_whole_numbers_of_any_size():
    said, labels = torch.randn(1, 5, 7), torch.tensor([[1, 6, -100, 0, 3]])
    losses = [token_loss(said, one, tokens=3) for one in (labels, labels.int(), labels.short())]
    assert losses[0] == losses[1] == losses[2]
