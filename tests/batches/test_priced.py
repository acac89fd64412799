"""What ways cost, against tensors of all slots and masks of all pairs."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.batches import by_hand

from attncost import ShapeError
from attncost.batches.machine import Looping
from attncost.batches.priced import Pricing, priced, shuffled
from attncost.batches.rates import machine_of
from attncost.batches.waste import waste_of
from attncost.batches.ways import load, names
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded
from attncost.core.cost import Cost
from attncost.cost.block import BlockSizes
from attncost.cost.configuration import Configuration
from attncost.cost.over_length import OverLength, Quadratic
from attncost.cost.planning.speed import Rates
from attncost.cost.reading import preset
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.window import Window

D, LAYERS = 16, 2
BLOCK = BlockSizes(d_model=D, heads=2, kv_heads=2, head_dim=8, hidden=4 * D)
MODEL = Configuration.alike("small", BLOCK, Full(), layers=LAYERS)
TOKEN = 2 * LAYERS * 12 * D**2
PAIR = 4 * D * LAYERS

WAYS = [way for name in names() for way in load(name).examples()]
every_way = pytest.mark.parametrize("way", WAYS, ids=str)
some_lengths = st.lists(st.integers(0, 40), min_size=1, max_size=25).filter(any)


# Each of its numbers shows in a sum of seconds.
SLOW = by_hand.Priced(
    start=3.0,
    slot=0.5,
    square=1e-3,
    pair=0.01,
    packed=Looping(row=7.0, text=0.3),
    read=lambda length: length**1.5,
)


def tensors(way, lengths, order):
    """Give for each batch the numbers of the texts in its slots, -1 for padding."""
    for batch in way.batches(lengths, order):
        rows = [[i for i in row for _ in range(lengths[i])] for row in batch.rows]
        width = batch.layout(lengths).width
        yield torch.tensor([row + [-1] * (width - len(row)) for row in rows]).reshape(
            len(rows), width
        )


def multiplied(slots, documents):
    """Return the mask of what is multiplied: True for each pair of each row."""
    packs = any(len(set(row.tolist()) - {-1}) > 1 for row in slots)
    if not packs or documents == "masked":
        return torch.ones(*slots.shape, slots.shape[1], dtype=torch.bool)
    return slots[:, :, None] == slots[:, None, :]


@every_way
@pytest.mark.parametrize("documents", ["apart", "masked"])
@settings(max_examples=15, deadline=None)
@given(lengths=some_lengths, chance=st.randoms())
def test_flops_are_those_of_all_slots_and_of_all_pairs(way, documents, lengths, chance):
    order = list(range(len(lengths)))
    chance.shuffle(order)
    found = priced(way, lengths, MODEL, documents=documents, order=order)
    slots = list(tensors(way, lengths, order))
    pairs = sum(int(multiplied(one, documents).sum()) for one in slots)
    assert found.executed == TOKEN * sum(one.numel() for one in slots) + PAIR * pairs
    assert found.useful == TOKEN * sum(lengths) + PAIR * sum(n * n for n in lengths)
    assert found.calls == len(slots) == len(found.batches)
    assert found.most_slots == max(one.numel() for one in slots)
    assert found.masked == (way.packs and documents == "masked")


@every_way
@pytest.mark.parametrize("documents", ["apart", "masked"])
@settings(max_examples=10, deadline=None)
@given(lengths=some_lengths)
def test_waste_and_seconds_are_those_of_its_batches_one_by_one(way, documents, lengths):
    found = priced(way, lengths, MODEL, machine=SLOW, documents=documents)
    pairs = by_hand.pairs(found.batches, lengths, documents)
    rows = [batch.layout(lengths) for batch in found.batches]
    for waste in (found.waste, waste_of(rows, documents=documents)):
        assert (waste.tokens, waste.pairs) == (sum(lengths), sum(n * n for n in lengths))
        assert waste.slots == sum(len(one.documents) * one.width for one in rows)
        assert waste.multiplied == pairs
    seconds = by_hand.seconds(SLOW, found.batches, lengths, documents)
    assert found.seconds == pytest.approx(seconds)
    assert priced(way, lengths, MODEL).seconds is None


@every_way
@settings(max_examples=10, deadline=None)
@given(lengths=some_lengths)
def test_every_batch_fits_into_one_of_the_largest_shapes_and_none_of_these_into_another(
    way, lengths
):
    found = priced(way, lengths, MODEL)
    order = shuffled(len(lengths))
    there = {tuple(one.shape) for one in tensors(way, lengths, order)}
    assert there.issuperset(found.shapes)
    for rows, width in there:
        assert any(rows <= r and width <= w for r, w in found.shapes)
    for rows, width in found.shapes:
        assert sum(rows <= r and width <= w for r, w in found.shapes) == 1


def test_a_window_multiplies_less_and_a_dense_mask_nothing_less():
    lengths = [30, 12, 40, 5]
    window = MODEL.reading(Window(width=4))

    def read(n):
        return sum(min(i + 1, 4) for i in range(n))

    padded = priced(Padded(2), lengths, window, order=range(4))
    slots = TOKEN * (2 * 30 + 2 * 40)
    assert padded.executed == slots + PAIR * (2 * read(30) + 2 * read(40))
    useful = TOKEN * 87 + PAIR * sum(map(read, lengths))
    apart, masked = (
        priced(Packed(100), lengths, window, documents=how, order=range(4))
        for how in ("apart", "masked")
    )
    assert apart.executed == apart.useful == masked.useful == padded.useful == useful
    assert masked.executed == TOKEN * 87 + PAIR * 87**2


@pytest.mark.parametrize(
    ("pattern", "read"),
    [
        (Window(width=4), lambda n: sum(min(i + 1, 4) for i in range(n))),
        (Causal(), lambda n: n * (n + 1) // 2),
    ],
    ids=("window", "causal"),
)
def test_seconds_under_a_dense_mask_are_those_of_all_pairs_whatever_the_pattern(pattern, read):
    lengths, model = [30, 12, 40, 5], MODEL.reading(pattern)
    rates = Rates(flops=1e9, bytes=1e15, source="bound by arithmetic")
    machine = machine_of(model, rates, start=0.0)
    apart, masked = (
        priced(Packed(100), lengths, model, machine=machine, documents=how)
        for how in ("apart", "masked")
    )
    slots = TOKEN * 87
    assert apart.seconds == pytest.approx((slots + PAIR * sum(map(read, lengths))) / 1e9)
    assert masked.seconds == pytest.approx((slots + PAIR * 87**2) / 1e9)
    by_flops = masked.executed / apart.executed
    assert masked.seconds / apart.seconds == pytest.approx(by_flops)


def test_a_dense_mask_of_long_rows_is_not_nearly_free_for_bert_with_a_window():
    window, lengths = preset("bert-base").reading(Window(64)), [128] * 320
    rates = Rates(flops=1e14, bytes=1e13, source="a device")
    machine = machine_of(window, rates, start=0.0)
    apart, masked = (
        priced(Packed(4096), lengths, window, machine=machine, documents=how)
        for how in ("apart", "masked")
    )
    # Ten rows of all pairs, and texts of whose queries the last 64 read 64 keys.
    pairs = 10 * 4096**2 - 320 * (64 * 65 // 2 + 64 * 64)
    more = 12 * 4 * 768 * pairs / 1e14
    assert masked.seconds - apart.seconds == pytest.approx(more)
    assert masked.seconds / apart.seconds == pytest.approx(masked.executed / apart.executed)
    assert masked.seconds > 1.6 * apart.seconds


def test_what_a_text_costs_beside_its_tokens_is_executed_for_each_packed_text():
    pooled = OverLength(
        name="pooled",
        shortest=1,
        longest=64,
        notes=(),
        core_flops=(Quadratic(0, 2, 4),) * 3,
        linear_flops=(Quadratic(1000, 10, 0),) * 3,
    )
    packed = priced(Packed(64), [10, 20, 30], pooled)
    assert packed.executed == packed.useful == 3 * 1000 + 60 * 10 + 2 * (100 + 400 + 900)
    with pytest.raises(ShapeError, match="pooled was counted from 1 to 64 tokens, got 90"):
        priced(Packed(96), [30, 30, 30], pooled, documents="masked")


def test_each_length_is_priced_once_whatever_is_priced():
    asked = []

    class Asked:
        name = "asked"

        def core(self, length):
            asked.extend(length.tolist())
            return Cost.product(length, length, 1)

        def linear(self, length):
            return Cost.product(length, 1, 1)

    lengths = [n % 7 for n in range(1000)]
    pricing = Pricing(lengths, Asked(), documents="masked")
    for way in (Padded(3), Packed(20), Packed(40), Padded(5)):
        pricing.of(way)
    assert len(asked) == len(set(asked))
    assert {1, 2, 3, 4, 5, 6} < set(asked) <= set(range(1, 41))


def test_what_does_not_sort_depends_on_the_order_which_a_seed_draws():
    lengths = [1] * 50 + [50] * 50
    drawn, again = (priced(Padded(10), lengths, MODEL) for _ in range(2))
    assert drawn == again
    assert drawn.order == shuffled(100) != tuple(range(100))
    assert shuffled(100, seed=1) != shuffled(100)
    ordered = priced(Padded(10), lengths, MODEL, order=range(100))
    assert (ordered.waste.wasted_tokens, ordered.executed) == (0, ordered.useful)
    assert drawn.executed > 1.5 * ordered.executed
    some = priced(Padded(10), lengths, MODEL, order=[0, 99, 3])
    assert (some.waste.tokens, some.calls) == (52, 1)


@pytest.mark.parametrize("kind", [tuple, np.array, torch.tensor])
def test_lengths_come_in_any_sequence(kind):
    found = priced(Padded(2), kind([3, 0, 5]), MODEL)
    assert found == priced(Padded(2), [3, 0, 5], MODEL)
    assert found.lengths == (3, 0, 5)


@pytest.mark.parametrize(
    ("lengths", "order", "reason"),
    [
        ([], None, "batches need a text with tokens, got no texts: pass the lengths"),
        ([0, 0], None, "batches need a text with tokens, got 2 empty ones"),
        ([0, 4], [0], "batches need a text with tokens, got 1 empty ones"),
        ([3, -1], None, "lengths must be whole numbers of at least 0 .*, got -1: pass"),
        (torch.tensor([3.5]), None, r"lengths must be whole numbers .*, got tensor\(\[3.5"),
    ],
)
def test_texts_that_cannot_be_priced_are_refused(lengths, order, reason):
    with pytest.raises(ShapeError, match=reason) as error:
        priced(Padded(2), lengths, MODEL, order=order)
    assert "\n" not in str(error.value)
