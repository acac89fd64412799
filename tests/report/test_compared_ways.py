"""Ways that are compared on a text, against FLOPs and bytes that are written out by hand."""

import random
from dataclasses import replace

import pytest

from attncost.batches.choose import choose_batching
from attncost.batches.curves import Curves
from attncost.batches.ways.budgeted import Budgeted
from attncost.batches.ways.padded import Padded
from attncost.cost.planning.needs import needs, total
from attncost.cost.planning.situation import Situation
from attncost.cost.reading import preset
from attncost.measure.subjects.target import target
from attncost.report.compared_ways import Asked, compared
from attncost.report.lines import Text

LAYER = target("layer:d_model=16,heads=2").configuration
# Four matrices of 16 x 16 for a slot, and each pair twice in 16 features.
SLOT, PAIR = 8 * 16**2, 4 * 16
# All lines are as long: no way pads anything, and only a dense mask multiplies more.
ALIKE = [4] * 6
APART, MASKED = 24 * SLOT + 6 * 16 * PAIR, 24 * SLOT + 24**2 * PAIR


def asked(lengths, model=LAYER, batch=2, **more):
    text = Text(name="a text", lengths=lengths, unit="words", batch_size=batch)
    return Asked(text=text, model=model, **more)


@pytest.mark.parametrize(
    ("kind", "masked", "executed"),
    [
        *((kind, False, APART) for kind in ("padded", "bucketed", "budgeted", "stepped", "packed")),
        ("packed", True, MASKED),
    ],
)
def test_each_way_executes_what_its_rows_hold(kind, masked, executed):
    found = compared(asked(ALIKE))
    (one,) = (
        way
        for way in found.ways
        if found.name(way).startswith(kind) and way.priced.masked == masked
    )
    assert one.priced.executed == executed
    assert found.ratio(one.priced) == executed / APART
    assert found.name(one).endswith(", dense mask") == masked
    assert found.paid == "FLOPs"


def test_settings_that_cost_as_much_within_a_thousandth_are_counted():
    found = compared(asked(ALIKE))
    assert {one.executed for one in found.tried} == {APART, MASKED}
    assert found.equal == sum(one.executed == APART for one in found.tried) - 1
    # Of 10,000 slots of a batch of two one is padding, and of 10,000 there 1,000 are.
    near = compared(asked([4999, 5000]))
    assert near.equal > compared(asked([4000, 5000])).equal


def test_what_does_not_pack_knows_no_mask_and_is_tried_once():
    tried = compared(asked(ALIKE)).tried
    once = [one.way for one in tried if not one.way.packs]
    assert len(set(once)) == len(once)
    packs = [one.way for one in tried if one.way.packs]
    assert all(packs.count(way) == 2 for way in packs)


@pytest.mark.parametrize(
    ("model", "masks"),
    [
        ("mamba2-2.7b", False),
        ("kimi-linear-48b-a3b", False),
        ("qwen3-next-80b-a3b", False),
        ("gemma-3-27b", True),
        ("deepseek-v3", True),
    ],
)
def test_a_mask_is_offered_only_where_every_layer_reads_one(model, masks):
    found = compared(asked([3, 9, 4], preset(model)))
    assert any(one.priced.masked for one in found.ways) == masks
    assert any(one.priced.way.packs and not one.priced.masked for one in found.ways)
    assert ("masked" in found.choices) == masks


def test_what_the_choice_under_a_mask_found_cheaper_counts():
    found = compared(asked([4, 4, 9, 9]))
    lengths = found.base.priced.lengths
    # Rows of 9 for all pad the shorter lines, and batches of 18 slots pad nothing.
    dear, cheap = (
        choose_batching(lengths, LAYER, None, documents=documents, ways=[way], order=range(4))
        for documents, way in (("apart", Padded(4)), ("masked", Budgeted(18, pool=9)))
    )
    both = replace(found, choices={"apart": dear, "masked": cheap})
    assert both.choice is cheap
    assert [one.way for one in both.tried] == [cheap.best.way, dear.best.way]


def test_the_first_row_is_the_way_that_was_chosen():
    chance = random.Random(0)
    lengths = [int(chance.lognormvariate(3, 1)) + 1 for _ in range(300)]
    calls = Curves("calls", rest=((1, 0.1), (1 << 16, 1.0)), attend=((1, 1e-6),))
    found = compared(asked(lengths, machine=calls))
    prices = [found.ratio(one.priced) for one in found.ways]
    assert found.best.priced.way == found.choice.best.way
    assert prices == sorted(prices)
    every = [one for choice in found.choices.values() for one in choice.tried]
    for way in found.ways:
        kind, masked = type(way.priced.way), way.priced.masked
        alike = [one for one in every if type(one.way) is kind and one.masked == masked]
        assert found.ratio(way.priced) == min(map(found.ratio, alike))


def test_a_machine_decides_by_seconds():
    # A call takes a second, and what lies in it nearly nothing.
    calls = Curves("calls", rest=((1, 1.0), (1 << 20, 1.0000001)), attend=((1, 1e-9),))
    found = compared(asked([4] * 64, machine=calls))
    assert found.paid == "time"
    assert found.best.priced.calls == 1
    assert found.ratio(found.best.priced) == pytest.approx(1 / 32, rel=1e-5)


def test_what_is_timed_is_the_usual_way_and_each_other_without_a_mask_once():
    found = compared(asked(ALIKE))
    names = [*found.timed]
    assert names[0] == "padded (size 2) at random"
    assert found.timed[names[0]].way == Padded(2)
    assert not any("mask" in name for name in names)
    assert len({one.way for one in found.timed.values()}) == len(names)
    # The best batches of lines that are alike are the largest, so 8 is the usual way and the best.
    same = compared(asked(ALIKE, batch=8))
    assert [way for way in same.timed if way.startswith("padded")] == ["padded (size 8) at random"]


def test_a_mask_that_does_not_fit_is_left_out_and_the_same_rows_without_it_are_not():
    bert = preset("bert-base")
    # The least rows that packing tries have 128 slots; a mask is a byte for each pair.
    least = total(needs(bert, Situation(kernel="fused"), length=128, batch=1)) + 128**2
    short = compared(asked([8] * 64, bert, memory=least - 1))
    (left,) = short.left_out
    assert left == "packed (tokens 128), dense mask", "that with the smallest batches"
    assert sum(one.priced.way.packs for one in short.ways) == 1
    kinds = [way.partition(" ")[0] for way in compared(asked([5] * 64, bert, memory=1)).left_out]
    assert len(set(kinds)) == len(kinds), "the least of each kind alone"
    enough = compared(asked([8] * 64, bert, memory=least))
    assert enough.left_out == {}
    assert [one.bytes for one in enough.ways if one.priced.masked] == [least]


@pytest.mark.parametrize(("missing", "fits"), [(0, True), (1, False)])
def test_it_fits_if_the_longest_line_alone_does(missing, fits):
    bert = preset("bert-base")
    alone = total(needs(bert, Situation(), length=9, batch=1))
    found = compared(asked([3, 9], bert, memory=alone - missing))
    assert found.fits is fits
    assert found.ways, "without any, none is left out"
