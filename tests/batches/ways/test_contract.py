"""What every way promises. A new file in `attncost/batches/ways` is tested here unasked."""

import inspect
import shutil
import sys
from dataclasses import fields, replace
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attncost.batches import ways
from attncost.batches.interface import Batching
from attncost.core.discovery import Catalogue

WAYS = [one for name in ways.names() for one in ways.load(name).examples()]
MANY = [0, 7, 1, 30, 512, 2, 2, 0, 40, 39, 5, 100_000, 1, 64, 65, 33] * 5
# Lengths of sets whose dials are asked for: one text, texts alike, one giant, many of one token.
SETS = [[5], [1], [512] * 70, [3, 1_000_000, 4, 0], [1] * 9, [0, 0, 2], MANY, [*range(3000)]]

every_way = pytest.mark.parametrize("way", WAYS, ids=str)
every_kind = pytest.mark.parametrize("kind", [ways.load(name) for name in ways.names()])

some_lengths = st.lists(
    st.one_of(st.integers(0, 3), st.integers(0, 80), st.integers(0, 10**9)), max_size=40
)


@st.composite
def texts(draw):
    """Return lengths, and the numbers of some of the texts in any order."""
    lengths = draw(some_lengths)
    order = draw(st.permutations(range(len(lengths))))
    return lengths, order[: draw(st.integers(0, len(order)))]


@every_way
@given(given=texts())
@settings(max_examples=20)
def test_each_text_of_the_order_is_in_one_batch_and_none_else(way, given):
    lengths, order = given
    batches = way.batches(lengths, order)
    assert all(batch.texts and all(batch.rows) for batch in batches)
    assert sorted(text for batch in batches for text in batch.texts) == sorted(order)
    held = [sum(map(sum, batch.layout(lengths).documents)) for batch in batches]
    assert sum(held) == sum(lengths[text] for text in order)


@every_way
@given(given=texts())
@settings(max_examples=20)
def test_a_budget_holds_but_for_a_text_that_is_longer(way, given):
    lengths, order = given
    for batch in way.batches(lengths, order):
        rows, alone = batch.layout(lengths), len(batch.texts) == 1
        assert way.packs or all(len(row) == 1 for row in batch.rows)
        if hasattr(way, "size"):
            assert len(batch.texts) <= way.size
        if hasattr(way, "slots"):
            assert rows.slots <= way.slots or alone
        if hasattr(way, "tokens"):
            assert rows.slots <= way.tokens or alone


@every_way
def test_the_same_texts_make_the_same_batches(way):
    order = range(len(MANY))
    assert way.batches(MANY, order) == way.batches(tuple(MANY), list(order))
    assert way.batches(MANY, []) == ()


@every_way
def test_what_the_other_texts_of_a_set_are_does_not_matter(way):
    order = range(1, len(MANY), 2)
    others = [n if i % 2 else n + 10**6 for i, n in enumerate(MANY)]
    assert way.batches(others, order) == way.batches(MANY, order)


@every_kind
def test_rows_of_several_texts_are_made_by_ways_that_pack_and_by_no_others(kind):
    batches = (batch for way in kind.examples() for batch in way.batches(MANY, range(len(MANY))))
    assert any(len(row) > 1 for batch in batches for row in batch.rows) == kind.packs


@every_kind
def test_texts_of_a_batch_are_alike_by_ways_that_sort_and_by_no_others(kind):
    lengths = [1 + 97 * i % 128 for i in range(4096)]
    spreads = []
    for way in kind.dials(lengths):
        batches = way.batches(lengths, range(4096))
        large = [batch.texts for batch in batches if len(batch.texts) >= 8]
        if 2 * len(large) > len(batches):
            held = [[lengths[text] for text in texts] for texts in large]
            spreads.append(mean(max(some) - min(some) for some in held))
    assert (min(spreads) < 32) == kind.sorts


@every_kind
@pytest.mark.parametrize("lengths", SETS, ids=lambda lengths: f"{len(lengths)} texts")
def test_there_are_dials_for_any_set_and_none_twice(kind, lengths):
    found = kind.dials(lengths)
    assert 0 < len(found) == len(set(found)) < 30
    for way in found:
        batches = way.batches(lengths, range(len(lengths)))
        assert sum(len(batch.texts) for batch in batches) == len(lengths)


@every_way
def test_a_way_is_a_value_that_can_be_written_down(way):
    assert replace(way) == way
    assert hash(replace(way)) == hash(way)
    assert eval(repr(way), {type(way).__name__: type(way)}) == way
    with pytest.raises(AttributeError):
        setattr(way, fields(way)[0].name, 3)


@every_kind
def test_documented_and_sourced(kind):
    assert kind.source
    said = inspect.getdoc(inspect.getmodule(kind)) or ""
    assert "slots  " in said
    assert "pairs  " in said


def test_one_file_more_is_one_way_more(tmp_path, monkeypatch):
    shutil.copy(Path(inspect.getfile(ways)).parent / "padded.py", tmp_path / "another.py")
    monkeypatch.setattr(ways, "__path__", [*ways.__path__, str(tmp_path)])
    # Of another kind, as what was found of the first is remembered.
    catalogue = Catalogue("one way more", ways.__name__, Batching)
    try:
        assert catalogue.names() == tuple(sorted([*ways.names(), "another"]))
        assert catalogue.make("another", size=3).batches([5, 6], [1, 0])[0].texts == (1, 0)
    finally:
        sys.modules.pop(f"{ways.__name__}.another", None)
