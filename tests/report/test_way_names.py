"""What ways are called, and the Python that makes them."""

import pytest
from tests.report.test_compared_ways import LAYER

import attncost as ac
from attncost.batches.priced import priced
from attncost.batches.ways import load, names
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.stepped import Stepped
from attncost.report.way_names import expression, kind, named

EVERY = [way for name in names() for way in load(name).examples()]


@pytest.mark.parametrize("way", EVERY, ids=repr)
def test_the_expression_of_a_way_makes_it_again(way):
    assert eval(f"ac.batches.{expression(way)}", {"ac": ac}) == way


@pytest.mark.parametrize(
    ("way", "documents", "short", "long"),
    [
        (Packed(128), "apart", "packed", "packed (tokens 128)"),
        (Packed(128), "masked", "packed, dense mask", "packed (tokens 128), dense mask"),
        (Stepped((4, 9), 8), "masked", "stepped", "stepped (widths 4/9, size 8)"),
    ],
)
def test_a_mask_is_named_where_there_is_one(way, documents, short, long):
    one = priced(way, [3, 9], LAYER, documents=documents)
    assert (kind(one), named(way, masked=one.masked)) == (short, long)


def test_only_settings_that_are_not_as_ever_are_written():
    assert expression(Packed(64)) == "Packed(tokens=64)"
    assert expression(Packed(64, multiple=8)) == "Packed(tokens=64, multiple=8)"
