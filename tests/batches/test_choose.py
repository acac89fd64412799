"""The cheapest way, against prices worked out from padded rows and packed ones by hand."""

from functools import cache
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.batches import by_hand
from tests.batches.by_hand import Priced

from attncost import ShapeError, UnknownName
from attncost.batches.choose import choose_batching
from attncost.batches.machine import AT_ONCE, Looping
from attncost.batches.memory import at_most, in_memory
from attncost.batches.priced import Pricing
from attncost.batches.ways import load, names
from attncost.batches.ways.bucketed import Bucketed
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded
from attncost.cost.block import BlockSizes
from attncost.cost.configuration import Configuration
from attncost.cost.planning.situation import Situation
from attncost.patterns.full import Full

MODEL = Configuration.alike("small", BlockSizes(d_model=16, heads=2, hidden=64), Full(), layers=2)


machines = st.builds(
    Priced,
    start=st.sampled_from([0.0, 1e-4, 1e-2]),
    slot=st.sampled_from([1e-6, 1e-4]),
    square=st.sampled_from([0.0, 1e-7]),
    pair=st.sampled_from([0.0, 1e-8, 1e-5]),
    packed=st.sampled_from([AT_ONCE, Looping(row=1e-4, text=1e-5)]),
    read=st.sampled_from([None, lambda length: length]),
)
some_lengths = st.lists(st.integers(0, 60), min_size=1, max_size=12).filter(any)


def drawn(texts, seed=0):
    """Return lengths as those of real texts: most are short."""
    chance = Random(seed)
    return [max(1, min(512, int(chance.lognormvariate(3.5, 1)))) for _ in range(texts)]


@settings(max_examples=25, deadline=None)
@given(lengths=some_lengths, machine=machines, documents=st.sampled_from(["apart", "masked", None]))
def test_the_best_is_the_cheapest_of_all_ways_and_dials(lengths, machine, documents):
    choice = choose_batching(lengths, MODEL, machine, documents=documents)
    order = choice.best.order
    every = [way for name in names() for way in load(name).dials(lengths)]
    seconds = {
        way: by_hand.seconds(machine, way.batches(lengths, order), lengths, documents)
        for way in every
        if documents or not way.packs
    }
    assert choice.best.seconds <= min(seconds.values()) * (1 + 1e-9)
    tried = {one.way: one.seconds for one in choice.tried}
    assert tried.keys() >= seconds.keys()
    assert {way: tried[way] for way in seconds} == pytest.approx(seconds)
    assert all(a.seconds <= b.seconds for a, b in pairwise(choice.tried))
    assert choice.best is choice.tried[0]
    usual = Padded(32).batches(lengths, order)
    seconds = by_hand.seconds(machine, usual, lengths, documents)
    assert choice.usual.seconds == pytest.approx(seconds)


def cheapest_padded(lengths, machine):
    """Return the least seconds of all ways to cut the sorted texts into padded batches."""
    texts = sorted(lengths)

    @cache
    def least(stop):
        if not stop:
            return 0.0
        width = texts[stop - 1]
        return min(
            least(start)
            + machine.rest((stop - start) * width)
            + (stop - start) * machine.attend(width)
            for start in range(stop)
        )

    return least(len(texts))


@pytest.mark.parametrize("start", [0.0, 1e-4, 1e-3, 1e-1])
@pytest.mark.parametrize("texts", [1, 6, 40, 150])
def test_without_packing_it_comes_near_the_best_of_all_cuts_of_the_sorted_texts(start, texts):
    machine = Priced(start=start, slot=1e-5, pair=1e-7)
    lengths = drawn(texts)
    least = cheapest_padded(lengths, machine)
    best = choose_batching(lengths, MODEL, machine, documents=None).best
    assert least * (1 - 1e-9) <= best.seconds <= 1.1 * least


@pytest.mark.parametrize("documents", ["apart", "masked", None])
def test_a_machine_that_is_slower_in_everything_makes_the_same_choice(documents):
    one, other = (
        choose_batching(drawn(300), MODEL, machine, documents=documents)
        for machine in (
            Priced(start=1e-3, square=1e-9),
            Priced(start=1e-1, slot=1e-3, square=1e-7, pair=1e-6),
        )
    )
    assert [p.way for p in one.tried] == [p.way for p in other.tried]
    assert one.reason == other.reason


def test_where_a_call_costs_nothing_packing_saves_padding_and_no_more():
    lengths = drawn(300)
    choice = choose_batching(lengths, MODEL, Priced(start=0.0))
    seconds = {one.way: one.seconds for one in choice.tried}
    for tokens in (128, 1024, 8192):
        assert seconds[Packed(tokens)] == pytest.approx(seconds[Padded(1)])
    assert choice.best.seconds == pytest.approx(seconds[Padded(1)])


def test_what_packing_takes_for_each_text_makes_buckets_win():
    lengths = drawn(300)
    ways = [Packed(1024), "bucketed"]
    for each, packs in ((0.0, True), (1e-3, False)):
        machine = Priced(start=1e-3, packed=Looping(text=each))
        choice = choose_batching(lengths, MODEL, machine, ways=ways)
        assert choice.best.way.packs is packs


def test_a_dense_mask_makes_long_packs_lose_and_a_kernel_for_each_document_does_not():
    lengths = drawn(400)
    machine = Priced(start=1e-4, slot=1e-6, pair=1e-6)
    apart, masked = (
        choose_batching(lengths, MODEL, machine, documents=how) for how in ("apart", "masked")
    )
    assert isinstance(apart.best.way, Packed)
    assert apart.best.way.tokens >= 2048
    assert "no padding, and each text attends by itself" in apart.reason
    found = {one.way: one for one in masked.tried}
    assert not masked.best.way.packs
    assert masked.best.way.sorts
    assert masked.best.seconds < found[Packed(128)].seconds < found[Packed(1024)].seconds / 4
    assert found[Packed(8192)].seconds > found[Padded(32)].seconds > 2 * masked.best.seconds
    assert "a dense document mask costs the row length squared" in masked.reason


def test_under_a_dense_mask_dear_calls_are_packed_into_short_rows():
    machine = Priced(start=1e-2, slot=1e-5, pair=3e-9)
    choice = choose_batching(drawn(60), MODEL, machine, documents="masked")
    assert isinstance(choice.best.way, Packed)
    apart = choose_batching(drawn(60), MODEL, machine)
    assert choice.best.way.tokens < apart.best.way.tokens
    pairs = choice.best.waste.times_pairs
    assert f"costs the row length squared, here {pairs:.1f} x the pairs" in choice.reason


def test_what_cannot_be_kept_apart_is_not_packed():
    choice = choose_batching(drawn(100), MODEL, Priced(start=1e-3), documents=None)
    assert not any(one.way.packs for one in choice.tried)
    assert {type(one.way) for one in choice.left_out} == {Packed}
    assert "keeps the texts of a row apart" in choice.left_out[0].why
    with pytest.raises(ShapeError, match=r"is left: packed \(tokens 128\) needs .* add a way"):
        choose_batching([3, 128], MODEL, None, documents=None, ways=["packed"])


def test_without_a_machine_flops_decide_and_then_calls():
    lengths = drawn(300)
    choice = choose_batching(lengths, MODEL, None)
    assert choice.best.seconds is None
    # All packs execute what is useful, and nothing less is possible.
    assert choice.best.executed == choice.best.useful
    assert isinstance(choice.best.way, Packed)
    assert choice.best.calls == 1
    ratio = choice.best.executed / choice.usual.executed
    assert choice.reason.endswith(f"{ratio:.3f} x the FLOPs of padded (size 32) at random")
    executed = [(one.executed, one.calls) for one in choice.tried]
    assert executed == sorted(executed)


def test_texts_of_one_length_leave_nothing_to_gain():
    choice = choose_batching([64] * 320, MODEL, Priced(start=0.0), ways=[Padded(32), Padded(16)])
    assert choice.best is choice.usual
    assert choice.reason == (
        "padded (size 32) at random: no padding, and nothing that was tried is cheaper"
    )


def test_ways_are_named_or_given_and_given_ones_keep_their_dials():
    lengths, machine = drawn(100), Priced(start=1e-2)
    ways = [Padded(8, multiple=8), "stepped"]
    choice = choose_batching(lengths, MODEL, machine, ways=ways, usual=Padded(4))
    assert {type(one.way).__name__ for one in choice.tried} == {"Padded", "Stepped"}
    assert [one.way for one in choice.tried if isinstance(one.way, Padded)] == [ways[0]]
    assert choice.reason.endswith("the seconds of padded (size 4) at random")
    given_alone = choose_batching(lengths, MODEL, machine, ways=[Packed(128)])
    assert [one.way for one in given_alone.tried] == [Packed(128)]
    in_order = choose_batching(lengths, MODEL, machine, ways=[Padded(2)], order=range(100))
    assert in_order.best.batches[0].texts == (0, 1)
    assert in_order.reason.endswith("of padded (size 32)")


def test_what_is_beyond_a_limit_is_left_out_and_says_why():
    lengths, machine = drawn(200), Priced(start=1e-2)
    free = choose_batching(lengths, MODEL, machine)
    bound = choose_batching(lengths, MODEL, machine, limit=at_most(1500))
    assert free.best.most_slots > 1500 >= max(one.most_slots for one in bound.tried)
    # Dials between the powers of two use the room up.
    assert bound.best.most_slots > 1250
    why = {one.way: one.why for one in bound.left_out}
    assert why[Packed(2048)].startswith("has a batch of 2,0")
    assert why[Packed(2048)].endswith(" slots, and 1,500 are allowed")
    memory = in_memory(MODEL, Situation(), memory=4 << 20)
    assert any(
        one.why.endswith("of 4.00 MiB")
        for one in choose_batching(lengths, MODEL, machine, limit=memory).left_out
    )


def test_among_equals_the_usual_way_is_the_best():
    for usual in (Padded(1), Bucketed(1, pool=1)):
        choice = choose_batching([7], MODEL, Priced(), usual=usual)
        assert choice.best.way == usual
        assert "share" not in choice.reason
    assert choose_batching([7], MODEL, Priced()).best.way == Padded(1)
    bucketed = choose_batching([7, 9], MODEL, Priced(start=1e-2), ways=[Bucketed(1), Bucketed(2)])
    assert bucketed.best.way == Bucketed(2)
    assert "texts of like length share a batch" in bucketed.reason
    single = choose_batching([7, 9], MODEL, Priced(), ways=[Bucketed(1)])
    assert single.reason.startswith("bucketed (size 1, pool 50): no padding; ")


def test_a_dense_mask_that_costs_nothing_is_no_reason():
    choice = choose_batching(
        [7, 7], MODEL, Priced(), documents="masked", ways=[Packed(7), Padded(1)]
    )
    assert choice.reason == "padded (size 1): no padding; 1.00 x the seconds of padded (size 32)"
    alone = choose_batching([7, 7], MODEL, Priced(), documents="masked", ways=[Packed(7)])
    assert "mask" not in alone.reason


def test_an_order_names_texts_and_none_twice():
    for order, got in (([0, 0], "0 twice"), ([-1], "-1 among them"), ([0, 7], "7 among them")):
        with pytest.raises(ShapeError, match=f"from 0 to 1, each at most once, got {got}: leave"):
            choose_batching([3, 4], MODEL, None, order=order)
    assert choose_batching([3, 4], MODEL, None, order=[1]).best.waste.tokens == 4


def test_one_way_may_be_given_by_itself():
    for one in ("packed", Packed(128)):
        choice = choose_batching(drawn(50), MODEL, Priced(), ways=one)
        assert {type(one.way) for one in choice.tried} == {Packed}


def test_if_nothing_is_within_a_limit_the_smallest_batch_is_named():
    reason = (
        r"within the limit: even \w+ \(.*\) has a batch of 512 slots, and 500 are allowed; allow"
    )
    with pytest.raises(ShapeError, match=reason):
        choose_batching([512, 3, 9], MODEL, Priced(), limit=at_most(500))


def test_of_a_great_many_texts_a_part_sets_the_dials_and_all_are_priced():
    lengths = drawn(2000) + [0] * 100
    machine = Priced(start=3e-3, square=1e-9)
    ways = ["packed", Padded(32), Padded(64)]
    choice = choose_batching(lengths, MODEL, machine, ways=ways, part=1000)
    assert [type(one.way) for one in choice.tried] == [Packed, Padded, Padded]
    assert all(one.waste.tokens == sum(lengths) for one in choice.tried)
    pricing = Pricing(lengths, MODEL, machine=machine)
    for tokens in (1024, 2048, 4096):
        assert choice.best.seconds <= 1.001 * pricing.of(Packed(tokens)).seconds
    why = {one.way: one.why for one in choice.left_out}
    assert why[Packed(128)].endswith("x as much as the best on 1,000 of the texts")


@pytest.mark.parametrize(
    ("lengths", "options", "error", "reason"),
    [
        ([], {}, ShapeError, "batches need a text with tokens, got no texts"),
        ([0, 0, 0], {}, ShapeError, "batches need a text with tokens, got 3 empty ones"),
        ([5], {"ways": ["pakced"]}, UnknownName, "no way to batch is called 'pakced'; .* 'packed'"),
        (
            [5],
            {"ways": []},
            ShapeError,
            "ways must hold the name of one way or more, got none: leave",
        ),
    ],
)
def test_what_leaves_no_choice_is_refused(lengths, options, error, reason):
    with pytest.raises(error, match=reason) as refusal:
        choose_batching(lengths, MODEL, Priced(), **options)
    assert "\n" not in str(refusal.value)
