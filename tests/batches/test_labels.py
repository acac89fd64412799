"""Which labels a loss compares with which tokens, against pairs written out for each text."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.batches.small import VOCABULARY, some_texts
from torch.nn.functional import cross_entropy

from attncost import ShapeError
from attncost.batches.loss import counted_tokens
from attncost.batches.packing_collator import PackingCollator
from attncost.batches.padding_collator import PaddingCollator
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded

BOTH = ("own", "shifted")


def batches(texts, labels):
    """Return the texts padded on each side and packed, each with padding at the end, too."""
    sides = [
        PaddingCollator(side=s, way=Padded(multiple=4), labels=labels) for s in ("right", "left")
    ]
    return [
        collate(texts)
        for collate in (*sides, PackingCollator(way=Packed(multiple=4), labels=labels))
    ]


def with_labels(texts):
    """Return labels that say to which token they belong."""
    places = iter(range(10**6))
    return [{"input_ids": text, "labels": [next(places) for _ in text]} for text in texts]


def compared(batch, shifted):
    """Return the places of tokens and labels that a loss compares, as transformers shifts them."""
    places, labels = batch["place"], batch["labels"]
    if shifted:
        places, labels = places[:, :-1], labels[:, 1:]
    return sorted(
        zip(places[labels != -100].tolist(), labels[labels != -100].tolist(), strict=True)
    )


@given(texts=some_texts)
def test_no_label_is_compared_with_a_token_of_another_text_or_of_padding(texts):
    examples = with_labels(texts)
    for example in examples:
        example["place"] = example["labels"]
    pairs = {
        "own": [(p, p) for x in examples for p in x["place"]],
        "shifted": [(p - 1, p) for x in examples for p in x["place"][1:]],
    }
    for labels in BOTH:
        for batch in batches(examples, labels):
            assert compared(batch, labels == "shifted") == pairs[labels]


@given(texts=some_texts, labels=st.sampled_from(BOTH))
def test_padded_and_packed_batches_count_as_many_labels(texts, labels):
    shifted = labels == "shifted"
    expected = sum(max(len(text) - shifted, 0) for text in texts)
    for batch in batches(with_labels(texts), labels):
        assert counted_tokens(batch["labels"], shifted=shifted) == expected


@given(texts=some_texts)
def test_ids_are_labels_where_asked_for(texts):
    given = [{"input_ids": text, "labels": text} for text in texts]
    for ids, labels in zip(batches(texts, "ids"), batches(given, "shifted"), strict=True):
        assert ids.keys() == labels.keys()
        assert all(torch.equal(ids[name], labels[name]) for name in ids)


def test_a_text_of_one_token_has_a_label_of_its_own_and_no_next_one():
    examples = [{"input_ids": [5], "labels": [7]}]
    for own, shifted in zip(batches(examples, "own"), batches(examples, "shifted"), strict=True):
        assert (own["labels"] != -100).sum() == 1
        assert not (shifted["labels"] != -100).any()


def test_labels_that_texts_leave_out_stay_out():
    examples = [{"input_ids": [5, 6, 7], "labels": [-100, -100, 7]}]
    for batch in batches(examples, "shifted"):
        assert counted_tokens(batch["labels"]) == 1


def test_the_first_label_of_a_text_would_be_read_from_the_text_before_it(generator):
    texts = [{"input_ids": [5, 6], "labels": [5, 6]}, {"input_ids": [7, 8], "labels": [7, 8]}]
    logits = torch.randn(3, VOCABULARY, generator=generator)
    last_of_the_first = logits.clone()
    last_of_the_first[1] = 0

    def loss(labels, scores):
        return float(cross_entropy(scores, PackingCollator(labels=labels)(texts)["labels"][0, 1:]))

    assert loss("own", logits) != loss("own", last_of_the_first)
    assert loss("shifted", logits) == loss("shifted", last_of_the_first)


@pytest.mark.parametrize("collate", [PaddingCollator, PackingCollator])
@pytest.mark.parametrize(
    ("labels", "examples", "reason"),
    [
        (None, [{"input_ids": [5], "labels": [5]}], "labels='shifted' or labels='own' must say"),
        ("own", [[5]], "labels='own' needs labels in every text, got none"),
        ("shifted", [[5]], "needs labels in every text, got none: labels='ids' takes the ids"),
        ("ids", [{"input_ids": [5], "labels": [5]}], "labels='ids' takes the ids .* got labels"),
    ],
)
def test_nobody_guesses_what_labels_mean(collate, labels, examples, reason):
    with pytest.raises(ShapeError, match=reason):
        collate(labels=labels)(examples)
