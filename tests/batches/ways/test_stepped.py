import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncost import ShapeError
from attncost.batches.ways.stepped import Stepped

some_widths = st.sets(st.integers(1, 60), min_size=1, max_size=5).map(lambda s: tuple(sorted(s)))


@given(
    lengths=st.lists(st.integers(1, 60), min_size=1, max_size=60),
    widths=some_widths,
    size=st.integers(1, 6),
)
def test_each_row_has_the_least_width_that_holds_it(lengths, widths, size):
    for batch in Stepped(widths, size).batches(lengths, range(len(lengths))):
        (width,) = {
            min((w for w in widths if w >= lengths[text]), default=None) for text in batch.texts
        }
        found = batch.layout(lengths).width
        assert found == width or (width is None and len(batch.texts) == 1)


@given(
    lengths=st.lists(st.integers(1, 60), min_size=1, max_size=60),
    widths=some_widths,
    size=st.integers(1, 6),
)
def test_there_are_two_shapes_a_width_at_most(lengths, widths, size):
    lengths = [min(n, widths[-1]) for n in lengths]
    batches = Stepped(widths, size).batches(lengths, range(len(lengths)))
    rows = [batch.layout(lengths) for batch in batches]
    full = [row for row in rows if len(row.documents) == size]
    assert len({(len(row.documents), row.width) for row in full}) <= len(widths)
    short = [row.width for row in rows if len(row.documents) < size]
    assert len(short) == len(set(short)), "one batch of a width at most is not full"


@given(lengths=st.lists(st.integers(0, 60), max_size=60))
def test_texts_of_a_width_stay_in_order(lengths):
    batches = Stepped((8, 64), 3).batches(lengths, range(len(lengths)))
    for multiple in (8, 64):
        texts = [i for batch in batches if batch.multiple == multiple for i in batch.texts]
        assert texts == sorted(texts)


def test_a_text_beyond_the_widest_is_alone_and_its_row_a_multiple_of_it():
    lengths = [3, 17, 40, 16, 33]
    batches = Stepped((4, 16), 2).batches(lengths, range(5))
    widths = {batch.texts: batch.layout(lengths).width for batch in batches}
    assert widths == {(1,): 32, (2,): 48, (4,): 48, (0,): 4, (3,): 16}


def test_texts_without_tokens_go_with_the_narrowest():
    lengths = [0, 3, 0, 0]
    first, second = Stepped((4, 16), 2).batches(lengths, range(4))
    assert first.layout(lengths).slots == 8
    assert second.layout(lengths).slots == 0


@pytest.mark.parametrize(
    ("dials", "reason"),
    [
        ({"size": 0}, "size must be a whole number of at least 1, got 0"),
        ({"widths": (0, 4)}, r"widths\[0\] must be a whole number of at least 1, got 0"),
        ({"widths": ()}, r"must be a tuple that increases, such as \(64, 128, 512\), got \(\)"),
        ({"widths": (8, 8)}, r"must be a tuple that increases, .* got \(8, 8\)"),
        ({"widths": (16, 8)}, r"must be a tuple that increases, .* got \(16, 8\)"),
    ],
)
def test_widths_increase(dials, reason):
    with pytest.raises(ShapeError, match=reason):
        Stepped(**dials)
