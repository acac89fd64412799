from pathlib import Path

import pytest

from attncost.core.errors import ShapeError
from attncost.train.tasks.bytes import Bytes

NOVEL = Path(__file__).parents[3] / "examples" / "data" / "pride_and_prejudice.txt"


@pytest.fixture(scope="module")
def text():
    return NOVEL.read_bytes()


def read(rows):
    return [bytes(row) for row in rows.tolist()]


@pytest.mark.parametrize("length", [64, 256])
def test_training_reads_the_first_nine_tenths_and_labels_are_the_next_bytes(text, length):
    batch = Bytes(length).drawn(300, seed=0, step=0)
    part = text[: len(text) - len(text) // 10]
    starts = set()
    for tokens, labels in zip(read(batch.tokens), read(batch.labels), strict=True):
        start = part.find(tokens + labels[-1:])
        assert start >= 0
        assert part[start + 1 : start + 1 + length] == labels
        starts.add(start)
    assert min(starts) < len(part) / 20
    assert max(starts) > len(part) * 19 / 20


@pytest.mark.parametrize("length", [1, 64, 256, 4000])
def test_the_last_tenth_is_held_out_and_says_each_byte_once(text, length):
    part = text[len(text) - len(text) // 10 :]
    batch = Bytes(length).held_out(10**6)
    labels = b"".join(read(batch.labels))
    assert labels == part[1 : 1 + len(labels)]
    assert len(part) - 1 - len(labels) < length, "what is left is no whole sequence"
    assert b"".join(read(batch.tokens)) == part[: len(labels)]


def test_no_held_out_sequence_stands_in_what_trains(text):
    part = text[: len(text) - len(text) // 10]
    assert not any(sequence in part for sequence in read(Bytes(64).held_out(10**6).tokens))


def test_the_longest_is_what_fits_once():
    most = NOVEL.stat().st_size // 10 - 1
    assert len(Bytes(most).held_out(5).tokens) == 1
    with pytest.raises(ShapeError, match=f"{most + 1} bytes: length must be less, got {most + 1}"):
        Bytes(most + 1).held_out(5)
    with pytest.raises(ShapeError, match="length must be at least 1, got 0"):
        Bytes(0)
