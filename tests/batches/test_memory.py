import pytest

from attncost import ShapeError
from attncost.batches.memory import at_most, in_memory, largest, memory_of
from attncost.batches.priced import priced
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded
from attncost.cost.block import BlockSizes
from attncost.cost.configuration import Configuration
from attncost.cost.planning.needs import needs, total
from attncost.cost.planning.situation import Situation
from attncost.cost.reading import preset
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full

BLOCK = BlockSizes(d_model=64, heads=4, kv_heads=4, head_dim=16, hidden=256)
MODEL = Configuration.alike("small", BLOCK, Full(), layers=2)
SITUATIONS = [
    Situation(),
    Situation(kernel="naive"),
    Situation(work="training", weights="float32"),
]


def held(how, rows, width, model=MODEL):
    return total(needs(model, how, length=width, batch=rows))


@pytest.mark.parametrize("how", SITUATIONS)
def test_padded_batches_take_what_their_worst_batch_does(how):
    lengths = [9, 3, 70, 2, 5]
    found = priced(Padded(3), lengths, MODEL, order=[0, 1, 4, 2, 3])
    assert memory_of(found, MODEL, how) == max(held(how, 3, 9), held(how, 2, 70))


def test_under_n_by_n_weights_few_long_rows_take_more_than_many_slots_of_short_ones():
    lengths = [400] + [1] * 499
    found = priced(Padded(499), lengths, MODEL, order=range(1, 500))
    assert found.most_slots == 499
    both = priced(Padded(499), lengths, MODEL, order=[*range(1, 500), 0])
    assert both.most_slots == 499
    for how, worst in ((SITUATIONS[0], (499, 1)), (SITUATIONS[1], (1, 400))):
        assert memory_of(both, MODEL, how) == held(how, *worst) > 0


def test_a_packed_row_keeps_no_weights_but_a_dense_mask_has_a_byte_for_each_pair():
    lengths = [30, 60, 10]
    apart, masked = (
        priced(Packed(128), lengths, MODEL, documents=how) for how in ("apart", "masked")
    )
    fused, naive, _ = SITUATIONS
    assert memory_of(apart, MODEL, naive) == memory_of(apart, MODEL, fused) == held(fused, 1, 100)
    assert memory_of(masked, MODEL, fused) == held(fused, 1, 100) + 100**2
    assert memory_of(masked, MODEL, naive) == held(naive, 1, 100) + 100**2


def test_a_mask_is_held_only_where_a_row_has_several_texts():
    fused = SITUATIONS[0]
    long = priced(Packed(50), [400, 30, 20], MODEL, documents="masked", order=range(3))
    assert memory_of(long, MODEL, fused) == max(held(fused, 1, 400), held(fused, 1, 50) + 50**2)
    alone = priced(Packed(50), [400, 300], MODEL, documents="masked")
    assert memory_of(alone, MODEL, fused) == held(fused, 1, 400)


def test_a_batch_of_empty_texts_takes_what_a_token_does():
    found = priced(Padded(1), [0, 1], MODEL)
    assert memory_of(found, MODEL, Situation()) == held(Situation(), 1, 1)


@pytest.mark.parametrize("how", SITUATIONS)
@pytest.mark.parametrize("documents", ["apart", "masked"])
def test_the_largest_batch_fits_and_the_next_does_not(how, documents):
    memory = held(how, 1, 1) + (3 << 20)

    def of(way, lengths):
        return memory_of(priced(way, lengths, MODEL, documents=documents), MODEL, how)

    rows = largest(Padded(), MODEL, how, memory=memory, longest=50, documents=documents)
    assert of(Padded(rows), [50] * rows) <= memory < of(Padded(rows + 1), [50] * (rows + 1))
    tokens = largest(Packed(), MODEL, how, memory=memory, longest=50, documents=documents)
    two = [tokens // 2, tokens - tokens // 2]
    assert of(Packed(tokens), two) <= memory
    assert memory < of(Packed(tokens + 1), [two[0] + 1, two[1]])


def test_nothing_fits_beside_weights_that_do_not_fit():
    for way in (Padded(), Packed()):
        assert largest(way, MODEL, Situation(), memory=1000, longest=5) == 0


def test_rows_of_a_model_that_keeps_a_cache_hold_it_for_every_slot():
    model = Configuration.alike("writes", BLOCK, Causal(), layers=2)
    found = priced(Padded(2), [7, 7], model)
    fused = Situation()
    assert memory_of(found, model, fused) == held(fused, 2, 7, model)
    assert held(fused, 2, 7, model) > held(fused, 2, 7)


def test_limits_say_what_is_beyond_them():
    bert = preset("bert-base")
    found = priced(Padded(4), [512] * 4, bert)
    needed = memory_of(found, bert, Situation())
    assert in_memory(bert, Situation(), memory=needed)(found) is None
    assert in_memory(bert, Situation(), memory=1 << 20)(found) == (
        f"takes {needed / 2**20:.0f} MiB of 1.00 MiB"
    )
    assert at_most(2048)(found) is None
    assert at_most(2047)(found) == "has a batch of 2,048 slots, and 2,047 are allowed"


def test_slots_that_are_allowed_are_one_or_more():
    with pytest.raises(ShapeError, match="slots must be a whole number of at least 1, got -1"):
        at_most(-1)
