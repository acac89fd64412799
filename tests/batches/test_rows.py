"""What lies in rows, written three ways, against runs of numbers read one by one."""

import pytest
import torch

from attncost import ShapeError
from attncost.batches.rows import Rows, rows_of, whole


def by_hand(segments, real):
    """Return the documents of each row, a token at a time."""
    found = []
    for numbers, tokens in zip(segments.tolist(), real.tolist(), strict=True):
        documents = {}
        for number, is_real in zip(numbers, tokens, strict=True):
            if is_real and number >= 0:
                documents[number] = documents.get(number, 0) + 1
        found.append(tuple(documents.values()))
    return tuple(found)


def test_lengths_are_sequences_or_rows_of_documents():
    assert rows_of([5, 0, 3]) == Rows(((5,), (), (3,)), 5)
    packed = rows_of([[5, 3], [6, 0], []], width=9)
    assert packed == Rows(((5, 3), (6,), ()), 9)
    assert (packed.tokens, packed.slots) == (14, 27)
    assert whole(2, 7) == rows_of([7, 7])
    assert rows_of(key_mask=torch.zeros(2, 0, dtype=torch.long)) == Rows(((), ()), 0)


@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.uint8])
def test_a_mask_tells_how_many_tokens_are_real_wherever_padding_lies(kind):
    mask = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0]]).to(kind)
    assert rows_of(key_mask=mask) == Rows(((2,), (3,), (2,), ()), 4)


def test_numbers_of_documents_tell_them_apart_within_a_row(generator):
    for width in (1, 2, 9, 40):
        segments = torch.randint(-1, 4, (5, width), generator=generator)
        real = torch.rand(5, width, generator=generator) > 0.3
        every = torch.ones_like(real)
        assert rows_of(segments=segments) == Rows(by_hand(segments, every), width)
        masked = rows_of(segments=segments, key_mask=real.long())
        assert masked == Rows(by_hand(segments, real), width)
        small = segments.clamp(min=0).to(torch.uint8)  # which cannot hold -1
        assert rows_of(segments=small, key_mask=real) == Rows(by_hand(small, real), width)


def test_a_row_that_ends_in_a_document_and_one_that_begins_with_its_number_are_two():
    segments = torch.tensor([[1, 2, 2], [2, 2, 3]])
    assert rows_of(segments=segments).documents == ((1, 2), (2, 1))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "a batch needs lengths=, key_mask= or segments="),
        ({"lengths": [3, -1]}, r"lengths must be at least 0, got \[-1\]"),
        ({"lengths": []}, "lengths must be those of one or more rows, got none"),
        ({"lengths": [3, 5], "width": 4}, "hold the longest row of 5 tokens, got 4 slots"),
        ({"lengths": [3], "key_mask": torch.ones(1, 3)}, "pass either lengths, or"),
        ({"key_mask": torch.ones(1, 3), "width": 3}, "width= goes with lengths alone"),
        ({"key_mask": torch.ones(3)}, r"one shape \(batch, n\), got \[\(3,\)\]"),
        (
            {"key_mask": torch.ones(1, 3), "segments": torch.ones(1, 4, dtype=torch.long)},
            r"must have one shape \(batch, n\), got \[\(1, 3\), \(1, 4\)\]",
        ),
        (
            {"key_mask": torch.tensor([[0.0, 0.0, 0.0, -1e9]])},
            "0 or 1 = a real token, got torch.float32: .* an additive mask as mask == 0",
        ),
        ({"key_mask": torch.zeros(1, 4)}, "got torch.float32"),  # additive, or all padding?
        ({"key_mask": torch.tensor([[1, 1, 2, 2]])}, "got numbers from 1 to 2: .* segments="),
        ({"key_mask": torch.tensor([[0, -10_000]])}, "got numbers from -10000 to 0"),
        ({"segments": torch.zeros(1, 4)}, "segments must be whole numbers, .* torch.float32"),
        ({"segments": torch.zeros(1, 4).bool()}, "segments must .* torch.bool: .* key_mask="),
        ({"key_mask": torch.ones(1, 3, device="meta")}, "values, got one on the meta device"),
    ],
)
def test_what_says_too_little_or_contradicts_itself_is_refused(given, reason):
    with pytest.raises(ShapeError, match=reason) as error:
        rows_of(**given)
    assert "\n" not in str(error.value)
