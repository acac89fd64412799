from functools import cache
from itertools import pairwise

import pytest
import torch
from tests.batches import by_hand
from tests.measure.speed.machine import START, machine
from torch import nn

import attncost as ac
from attncost.batches.batch import Batch, each_alone
from attncost.batches.curves import Curves
from attncost.batches.machine import Looping, Machine
from attncost.measure.speed.curves import Grid, curves, foretold_curves, spaced
from attncost.measure.speed.predict import predict

LAYER = ac.nn.Attention(32, 4).to("meta")


def call(batch, length, *, layer=LAYER):
    return ac.memory(layer, torch.empty(batch, length, 32, device="meta"))


@cache
def usual():
    return foretold_curves(call, machine(), name="a layer", slots=1024, longest=128)


def foretold(known=None, run=call, *, slots=1024, longest=128):
    return foretold_curves(run, known or machine(), name="a layer", slots=slots, longest=longest)


def padded(found, batch, length):
    """Return the seconds of a batch of whole sequences."""
    return by_hand.seconds(found, [each_alone(range(batch))], [length] * batch)


def took(batch, length, known=None):
    found = predict(LAYER, known or machine(), torch.empty(batch, length, 32, device="meta"))
    return found.seconds.value


@pytest.mark.parametrize("shape", [(1, 128), (2, 64), (1, 32), (64, 16), (32, 32), (1, 16)])
def test_both_curves_together_are_what_is_predicted_for_padded_batches(shape):
    batch, length = shape
    assert padded(usual(), batch, length) == pytest.approx(took(*shape), rel=1e-6)


@pytest.mark.parametrize("shape", [(5, 91), (10, 100), (3, 40), (100, 9), (1, 70)])
def test_between_the_points_they_are_close_to_it(shape):
    batch, length = shape
    assert padded(usual(), batch, length) == pytest.approx(took(*shape), rel=0.02)


def test_attention_is_the_pairs_and_nothing_else():
    found = usual()
    # A pair of one head takes 4 FLOPs for each of 8 features, and a FLOP a nanosecond.
    assert found.attend(128) == pytest.approx(128**2 * 4 * 4 * 8 * 1e-9, rel=1e-3)
    assert found.attend(64) == pytest.approx(found.attend(128) / 4, rel=1e-3)


def test_packed_texts_attend_each_by_itself():
    row = by_hand.seconds(usual(), [Batch(((0, 1, 2),))], [128, 64, 64])
    apart = usual().attend(128) + 2 * usual().attend(64)
    assert row == pytest.approx(usual().rest(256) + apart)
    assert row < padded(usual(), 1, 256)


def test_attention_that_is_written_out_is_told_apart_without_its_name():
    def written(batch, length):
        x = torch.empty(batch, length, 32, device="meta")
        return ac.memory(lambda x: (x @ x.mT).softmax(-1) @ x, x)

    found = foretold(run=written)
    # Two products of 32 features, and softmax over every score.
    assert found.attend(128) == pytest.approx(128**2 * (4 * 32 + 1) * 1e-9, rel=1e-3)


def test_more_never_takes_less():
    found = foretold(machine(view=1e-6, python=1e-6, fault=1e-9))
    for curve in (found.rest, found.attend):
        times = [curve(size) for size in range(1, 2000, 7)]
        assert times == sorted(times)
        assert times[0] > 0


def test_what_a_call_costs_by_itself_is_paid_once():
    cheap, dear = foretold(machine(python=0.0)), foretold(machine(python=1e-3))
    more = [dear.rest(slots) - cheap.rest(slots) for slots in (16, 256, 1024)]
    assert more[0] == pytest.approx(more[1]) == pytest.approx(more[2])
    assert dear.attend(128) == pytest.approx(cheap.attend(128), rel=1e-3)


def test_page_faults_of_many_slots_are_in_the_rest():
    wide = nn.Linear(32, 1 << 15, device="meta")

    def run(batch, length):
        return ac.memory(wide, torch.empty(batch, length, 32, device="meta"))

    # An output of 64 MiB and more is mapped anew in every call.
    bare, faulty = (foretold(machine(fault=fault), run) for fault in (0.0, 1e-9))
    assert faulty.rest(256) == pytest.approx(bare.rest(256))
    assert faulty.rest(1024) - bare.rest(1024) == pytest.approx(1024 * 4 * (1 << 15) * 1e-9)


def test_packed_texts_take_python_in_each_layer():
    two = nn.Sequential(ac.nn.Attention(32, 4), nn.Linear(32, 32), ac.nn.Attention(32, 4))
    two.to("meta")
    known = machine(packed=(1e-3, 1e-4))
    found = foretold(known, lambda batch, length: call(batch, length, layer=two), slots=64)
    assert found.packed == Looping(row=pytest.approx(2e-3), text=pytest.approx(2e-4))
    alone = nn.Linear(32, 32, device="meta")
    found = foretold(known, lambda batch, length: call(batch, length, layer=alone), slots=64)
    assert found.packed == (0.0, 0.0)


def test_what_a_model_does_once_for_each_sequence_is_no_negative_attention():
    def law(batch, length):
        return 1.0 + 0.1 * batch * length + batch * (5.0 + 0.001 * length**2)

    lengths = [1, 2, 4, 8]
    rest, attend = curves(law, Grid(16, lengths, lengths))
    found = Curves("pooled", rest=rest, attend=attend)
    assert 0 <= found.attend(16) <= found.attend(32)
    for n in (16, 32, 64, 128):
        assert found.rest(n) + found.attend(n) == pytest.approx(law(1, n))
    assert found.rest(128) + 8 * found.attend(16) == pytest.approx(law(8, 16))


def test_a_model_without_attention_takes_none():
    layer = nn.Linear(32, 32, device="meta")
    found = foretold(run=lambda batch, length: call(batch, length, layer=layer))
    assert found.attend(128) < 1e-3 * found.rest(128)
    assert found.rest(128) == pytest.approx(START + 128 * 2 * 32 * 32 * 1e-9, rel=1e-3)


@pytest.mark.parametrize("longest", [1, 3, 17, 33])
def test_short_sequences_have_curves_too(longest):
    found = foretold(slots=64, longest=longest)
    short = Grid.of(longest=longest, slots=64, step=2.0).short
    last = short * (longest // short)
    assert padded(found, 1, last) == pytest.approx(took(1, last), rel=1e-3)


def test_a_machine_is_called_by_its_model_and_its_processor():
    found = foretold(machine(environment={"processor": "imagined"}))
    assert isinstance(found, Machine)
    assert found.name == "a layer, imagined"
    assert foretold(machine(environment={})).name == "a layer, calibrated"


def test_a_call_is_asked_for_once_and_for_few_sizes():
    asked = []

    def run(batch, length):
        asked.append((batch, length))
        return call(batch, length)

    foretold(run=run, slots=1 << 14)
    assert len(set(asked)) == len(asked) <= 30
    assert max(batch * length for batch, length in asked) == 1 << 14
    assert max(length for _, length in asked) == 128


def test_steps_are_even_and_end_where_they_should():
    assert spaced(1, 2.0) == [1]
    found = spaced(1000, 2**0.5)
    assert (found[0], found[-1]) == (1, 1000)
    assert all(b / a <= 2 for a, b in pairwise(found))
