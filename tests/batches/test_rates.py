"""A roofline of batches, against sizes multiplied by hand."""

import pytest

from attncost.batches.machine import Looping, Machine
from attncost.batches.rates import Roofline, machine_of
from attncost.core.cost import Cost
from attncost.cost.block import BlockSizes
from attncost.cost.configuration import Configuration
from attncost.cost.over_length import OverLength, Quadratic
from attncost.cost.planning.situation import Situation
from attncost.cost.planning.speed import Rates
from attncost.cost.reading import preset
from attncost.patterns.full import Full
from attncost.patterns.window import Window

D, LAYERS = 64, 3
BLOCK = BlockSizes(d_model=D, heads=4, kv_heads=4, head_dim=16, hidden=4 * D)
MODEL = Configuration.alike("small", BLOCK, Full(), layers=LAYERS)
# Matrices of a block: queries, keys, values, output, and two of four times the width.
WEIGHTS = LAYERS * 12 * D**2
RATES = Rates(flops=1e9, bytes=1e8, source="a device")


def test_a_call_takes_its_start_and_its_products():
    machine = machine_of(MODEL, RATES, start=0.5)
    assert isinstance(machine, Machine)
    assert machine.name == "small, a device"
    for slots in (1000, 4096, 1_000_000):
        assert machine.rest(slots) == pytest.approx(0.5 + 2 * WEIGHTS * slots / 1e9)


def test_a_small_call_takes_what_reading_all_weights_once_takes():
    for how, wide in ((Situation(), 2), (Situation(weights="float32"), 4)):
        machine = machine_of(MODEL, RATES, how=how, start=0.0)
        assert machine.rest(1) == machine.rest(wide) == pytest.approx(wide * WEIGHTS / 1e8)
        # 2 FLOPs a weight and slot at 1e9 take as long as its bytes at 1e8.
        assert machine.rest(5 * wide + 1) > machine.rest(5 * wide) == pytest.approx(machine.rest(1))


def test_attention_takes_its_pairs_and_begins_in_each_layer_with_each_packed_text():
    machine = machine_of(MODEL, RATES, each=1e-3)
    n = 2048
    assert machine.attend(n) == pytest.approx(LAYERS * 4 * D * n**2 / 1e9)
    assert machine.packed == Looping(row=0, text=pytest.approx(LAYERS * 1e-3))
    slow = Looping(row=0.5, text=0.1)
    assert Roofline(MODEL, RATES, weights=0, packed=slow).packed is slow


def test_a_short_sequence_takes_what_moving_queries_keys_values_and_output_takes():
    for precision, wide in (("bfloat16", 2), ("float32", 4)):
        machine = machine_of(MODEL, RATES, how=Situation(activations=precision))
        assert machine.attend(4) == pytest.approx(LAYERS * 4 * 4 * D * wide / 1e8)


def test_a_window_takes_less_than_all_pairs():
    fast = Rates(flops=1e9, bytes=1e12, source="bound by arithmetic")
    window = machine_of(MODEL.reading(Window(width=8)), fast)
    # The first queries have fewer keys before them.
    pairs = sum(min(i + 1, 8) for i in range(4096))
    assert window.attend(4096) == pytest.approx(LAYERS * 4 * D * pairs / 1e9)
    assert window.rest(4096) == machine_of(MODEL, fast).rest(4096)
    # A dense mask takes all pairs all the same.
    assert window.attend(4096, dense=True) == pytest.approx(LAYERS * 4 * D * 4096**2 / 1e9)


def test_formulas_that_end_at_a_length_say_what_a_call_of_more_slots_takes():
    line, square = Quadratic(7, 100, 0), Quadratic(0, 4, 8)
    counted = OverLength(
        name="counted",
        shortest=1,
        longest=512,
        notes=(),
        core_flops=(square,) * 3,
        linear_flops=(line,) * 3,
    )
    machine = Roofline(counted, RATES, weights=0, start=0.0)
    assert machine.rest(100_000) == pytest.approx((7 + 100 * 100_000) / 1e9)
    assert machine.attend(512) == pytest.approx((4 * 512 + 4 * 512 * 511) / 1e9)


def test_padding_to_executed_tiles_takes_time():
    class Tiles:
        """Attention that multiplies tiles of 64."""

        name = "tiles"

        def core(self, length):
            return Cost(useful=length**2, executed=(-(-length // 64) * 64) ** 2, dense=length**2)

        def linear(self, length):
            return Cost.product(length, 1, 1)

    machine = Roofline(Tiles(), RATES, weights=0)
    assert machine.attend(65) == machine.attend(128) == pytest.approx(128**2 / 1e9)


def test_a_preset_on_a_gpu_wants_hundreds_of_slots_before_arithmetic_takes_over():
    rates = Rates(flops=989.4e12, bytes=3.35e12, source="H100")
    machine = machine_of(preset("bert-base"), rates, start=0.0)
    # Two bytes and two FLOPs for each weight: 989.4e12 / 3.35e12 = 295.
    assert machine.rest(290) == machine.rest(1)
    assert machine.rest(305) > machine.rest(1)
