"""What is read of texts, token by token, and what is said of those that are odd."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attncost import ShapeError
from attncost.batches.pieces import Piece, odd_texts, pieces

some_lengths = st.lists(st.integers(0, 30), max_size=20)


def read(found, lengths):
    """Return the tokens that are read of each text, by number, in order."""
    texts = [[*range(n)] for n in lengths]
    tokens = [[] for _ in lengths]
    for piece in found:
        cut = texts[piece.text][piece.start : piece.stop]
        assert len(cut) == piece.tokens
        tokens[piece.text] += cut
    return tokens


@given(lengths=some_lengths, longest=st.integers(1, 12))
def test_split_texts_are_read_once_and_in_order(lengths, longest):
    found = pieces(lengths, longest=longest, too_long="split")
    assert read(found, lengths) == [[*range(n)] for n in lengths]
    assert [piece.text for piece in found] == sorted(piece.text for piece in found)
    for piece in found:
        last = piece.stop == lengths[piece.text]
        assert piece.tokens == longest or (last and piece.tokens < longest)
        assert piece.tokens or not lengths[piece.text], "no empty piece of a text with tokens"


@given(lengths=some_lengths, longest=st.integers(1, 12))
def test_cut_texts_are_read_up_to_where_they_are_cut(lengths, longest):
    found = pieces(lengths, longest=longest, too_long="cut")
    assert read(found, lengths) == [[*range(n)][:longest] for n in lengths]
    assert [piece.text for piece in found] == [*range(len(lengths))]


@pytest.mark.parametrize("too_long", ["refuse", "cut", "split"])
@pytest.mark.parametrize("longest", [30, None])
@given(lengths=some_lengths)
def test_no_rule_touches_texts_that_are_short_enough(too_long, longest, lengths):
    found = pieces(lengths, longest=longest, too_long=too_long)
    assert found == tuple(Piece(text, 0, n) for text, n in enumerate(lengths))


@pytest.mark.parametrize("too_long", ["refuse", "cut", "split"])
def test_an_empty_text_is_one_empty_piece_and_one_token_a_piece_of_one(too_long):
    found = pieces([0, 1, 0], longest=1, too_long=too_long)
    assert found == (Piece(0, 0, 0), Piece(1, 0, 1), Piece(2, 0, 0))


@pytest.mark.parametrize("kind", [iter, torch.tensor, np.array])
@pytest.mark.parametrize("rule", ["cut", "split"])
def test_lengths_are_read_once_and_become_whole_numbers(kind, rule):
    lengths = [3, 0, 9]
    found = pieces(kind(lengths), longest=4, too_long=rule)
    assert found == pieces(lengths, longest=4, too_long=rule)
    assert {type(n) for piece in found for n in (piece.start, piece.stop)} == {int}
    told = odd_texts(kind(lengths), longest=4, too_long=rule)
    assert told == odd_texts(lengths, longest=4, too_long=rule)
    assert type(told.unread) is int


@given(lengths=some_lengths, longest=st.integers(1, 12), rule=st.sampled_from(["cut", "split"]))
def test_what_is_odd_is_counted(lengths, longest, rule):
    told = odd_texts(lengths, longest=longest, too_long=rule)
    found = pieces(lengths, longest=longest, too_long=rule)
    beyond = {text for text, n in enumerate(lengths) if n > longest}
    assert told.pieces == sum(piece.text in beyond for piece in found)
    assert told.unread == sum(lengths) - sum(piece.tokens for piece in found)
    kinds = (told.texts, told.empty, told.single, told.too_long)
    assert kinds == (len(lengths), lengths.count(0), lengths.count(1), len(beyond))
    assert len(told.sentences) == sum(map(bool, kinds[1:]))


def test_what_becomes_of_odd_texts_is_said():
    lengths = [0] * 3 + [1] + [2000] * 2 + [7] * 1198
    assert str(odd_texts(lengths, longest=512, too_long="cut")) == (
        "3 of 1,204 texts are without tokens: a place among the others, and no output. "
        "1 of 1,204 texts is of one token: nothing follows that training could predict. "
        "2 of 1,204 texts are longer than 512 tokens: cut off there, 2,976 tokens are not read."
    )
    split = odd_texts(lengths, longest=512, too_long="split")
    assert split.sentences[-1].endswith("split into 8 pieces that do not see each other.")
    usual = "All 2 texts are read as they are."
    assert str(odd_texts([4, 5], longest=None)) == str(odd_texts([4, 5], longest=5)) == usual


@pytest.mark.parametrize("asked", [pieces, odd_texts])
@pytest.mark.parametrize(
    ("given", "kind", "reason"),
    [
        (
            {},
            ShapeError,
            "texts must have at most 512 tokens, got 6,201: 2 of 4 texts are too long; "
            "too_long='cut' reads the first tokens of those, and 'split' all of them in pieces.",
        ),
        ({"longest": 0}, ShapeError, "longest must be a whole number of at least 1, got 0."),
        (
            {"lengths": [3, -2]},
            ShapeError,
            "lengths must be whole numbers of at least 0 such as [512, 300], the tokens of each "
            "text, got -2: pass [len(ids) for ids in texts].",
        ),
    ],
)
def test_what_is_refused_says_what_to_do(asked, given, kind, reason):
    with pytest.raises(kind) as error:
        asked(**{"lengths": [6201, 0, 513, 512], "longest": 512, **given})
    assert str(error.value) == reason
