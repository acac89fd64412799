import random

import pytest
import torch
from tests.measure.speed.machine import COLD, PEAK, RATE, START, VIEW, flat, machine
from torch import nn

from attncost.measure.speed.families import families
from attncost.measure.speed.operation import KEPT, Layout, Operation, Recording
from attncost.measure.speed.predict import predict, predicted


def layout(*shape, dtype="float32", itemsize=4):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return Layout(shape, tuple(strides), dtype, itemsize, step * itemsize)


def mm(m, k, n, **changes):
    return Operation(
        name="aten::mm",
        args=(layout(m, k), layout(k, n)),
        outputs=(layout(m, n),),
        **changes,
    )


def test_a_linear_layer_takes_its_start_and_its_multiply_adds():
    found = predict(nn.Linear(64, 32), machine(), torch.zeros(16, 64))
    flops = 2 * 16 * 64 * 32
    assert found.seconds.value == pytest.approx(START + flops * RATE)
    assert (found.flops, found.at_least) == (flops, False)
    assert found.utilisation == pytest.approx(flops / found.seconds.value / PEAK)


def test_views_and_python_are_paid_for_each_operation():
    bare = predict(nn.Linear(64, 32), machine(), torch.zeros(16, 64))
    found = predict(nn.Linear(64, 32), machine(view=VIEW, python=1e-6), torch.zeros(16, 64))
    free = sum(row.calls for row in found.by_operation if row.operation != "aten::addmm")
    more = free * VIEW + found.operations * 1e-6
    assert free >= 1
    assert found.seconds.value - bare.seconds.value == pytest.approx(more)


def test_a_roofline_takes_the_slower_of_arithmetic_and_memory():
    x, y = torch.zeros(256, 256), torch.zeros(256, 256)
    product = predict(lambda: x @ y, machine())
    assert product.roofline == pytest.approx(2 * 256**3 / PEAK)
    total = predict(lambda: x + y, machine())
    assert total.roofline == pytest.approx(3 * 256**2 * 4 / PEAK)


def test_a_training_step_takes_three_products():
    layer = nn.Linear(64, 32, bias=False)
    x = torch.zeros(16, 64, requires_grad=True)
    (row,) = (
        row
        for row in predict(layer, machine(), x, training=True).by_operation
        if row.operation == "aten::mm"
    )
    assert row.flops == 3 * 2 * 16 * 64 * 32
    assert row.seconds == pytest.approx(3 * START + row.flops * RATE)


def test_what_nothing_prices_is_listed_and_makes_the_time_at_least():
    odd = Operation(name="mylib::odd", args=(layout(4),), outputs=(layout(4),))
    found = predicted(Recording((odd, odd, mm(1, 2, 3))), machine())
    assert found.at_least
    assert found.unpriced == {"mylib::odd": 2}
    assert found.seconds.value == pytest.approx(START + 12 * RATE)


def test_other_precisions_are_not_taken_for_the_one_that_was_timed():
    x = torch.zeros(16, 16, dtype=torch.bfloat16)
    assert predict(lambda: x @ x, machine()).unpriced == {"aten::mm": 1}


def test_a_far_weight_takes_longer_by_its_bytes():
    far = ((1 << 20, 0.0), (1 << 22, 4e-9))
    near, midway, away = (
        predicted(Recording((mm(1, 1, 1, far=((1000, distance),)),)), machine(far=far))
        for distance in (1 << 10, 5 << 19, 1 << 30)
    )
    base = START + 2 * RATE
    assert near.seconds.value == pytest.approx(base)
    assert midway.seconds.value == pytest.approx(base + 1000 * 2e-9)
    assert away.seconds.value == pytest.approx(base + 1000 * 4e-9)


def test_an_operation_starts_cold_once_others_filled_the_caches():
    tables = {name: flat(family, cold=COLD) for name, family in families().items()}
    warm, half, cold = (
        predicted(Recording((mm(1, 1, 1, since=since),)), machine(tables=tables)).seconds.value
        for since in (0, 1 << 19, 1 << 30)
    )
    assert (half - warm, cold - warm) == pytest.approx(((COLD - START) / 2, COLD - START))


def test_page_faults_are_paid_for_large_blocks_and_for_a_heap_that_is_given_back():
    known = machine(fault=1e-9)
    small, large = (
        predicted(Recording((mm(1, 1, 1, fresh=(size,)),), heap=heap), known)
        for size, heap in ((KEPT - 1, KEPT - 1), (KEPT, 0))
    )
    assert small.around["page faults"] == 0
    assert large.around["page faults"] == pytest.approx(KEPT * 1e-9)
    many = predicted(Recording((mm(1, 1, 1, fresh=(4,)),), heap=KEPT + 1), known)
    assert many.around["page faults"] == pytest.approx((KEPT + 1) * 1e-9)


def test_a_heap_that_a_young_process_would_give_back_widens_the_interval_upwards():
    known = machine(fault=1e-9)
    sure = predicted(Recording((mm(1, 1, 1, fresh=(1 << 20,)),), heap=2 << 20), known).seconds
    unsure = predicted(Recording((mm(1, 1, 1, fresh=(1 << 20,)),), heap=3 << 20), known).seconds
    assert sure.high == pytest.approx(sure.value)
    assert unsure.value == pytest.approx(sure.value)
    assert unsure.high - unsure.value == pytest.approx((3 << 20) * 1e-9)


def test_intervals_cover_times_of_tables_that_were_measured_with_noise():
    generator, spread, covered, trials = random.Random(0), 0.05, 0, 400
    work = (mm(32, 32, 32), Operation(name="aten::gelu", outputs=(layout(4096),)))
    truth = predicted(Recording(work), machine()).seconds.value
    for _ in range(trials):
        tables = {
            name: flat(family, rate=RATE * (1 + generator.gauss(0, spread)), spread=spread)
            for name, family in families().items()
        }
        found = predicted(Recording(work), machine(tables=tables)).seconds
        covered += found.low <= truth <= found.high
    assert covered / trials >= 0.93


def test_intervals_are_as_wide_as_errors_of_tables_that_add_up_or_cancel():
    tables = {name: flat(family, spread=0.1) for name, family in families().items()}
    twice = (mm(64, 64, 64), mm(64, 64, 64))
    found = predicted(Recording(twice), machine(tables=tables)).seconds
    assert found.high - found.value == pytest.approx(1.96 * 0.1 * found.value, rel=1e-6)
