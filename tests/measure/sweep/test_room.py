import re
import time

import pytest
import torch

import attncost as ac
from attncost.core.units import show
from attncost.measure.held.memory import MemoryMonitor
from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.layer import layer_subjects
from attncost.measure.subjects.subject import Subject
from attncost.measure.sweep.room import lack


def layer(name, **wishes):
    (subject,) = layer_subjects(d_model=64, heads=8, attentions=[name], qkv=["fused"], **wishes)
    return subject


def needed(reason):
    return re.fullmatch(r"needs (.+), .+ are free", reason)[1]


def test_scores_of_200_000_tokens_are_refused_at_once_and_without_taking_memory():
    subject, n = layer("naive"), 200_000
    start = time.perf_counter()
    with MemoryMonitor("cpu") as meter:
        reason = lack(subject, Case(length=n), {2048: 1 << 28})
    assert time.perf_counter() - start < 25, "five times what it may take"
    assert meter.peak < 1 << 20
    # Scores and weights, queries, keys and values side by side, and the input.
    assert needed(reason) == show(4 * (2 * 8 * n * n + 3 * n * 64 + n * 64), "bytes")


def test_what_fits_lacks_nothing():
    for mode in ("forward", "training", "decode"):
        assert lack(layer("causal"), Case(length=512, mode=mode), {}) is None


@pytest.mark.parametrize("mode", ["training", "decode"])
def test_the_figure_is_what_the_allocator_would_be_asked_for(mode):
    # In sizes that do fit, so that the same prediction can be held against a run.
    subject, case = layer("causal"), Case(length=192, mode=mode)
    with torch.device("meta"):
        foreseen = subject.prepare(case).footprint("cpu").above
    if mode == "decode":
        with MemoryMonitor("cpu") as meter:
            subject.prepare(case)()
        held = 4 * 193 * 64
        assert foreseen == pytest.approx(meter.peak - held, rel=0.01)
        return
    call = subject.prepare(case)
    call()
    with MemoryMonitor("cpu") as meter:
        call()
    assert foreseen == pytest.approx(meter.peak, rel=0.01)


def test_a_peak_that_was_measured_is_enough_if_its_square_growth_fits():
    asked = []

    def fail(case):
        asked.append(case.length)
        raise ValueError("it cannot be made")

    subject = Subject(
        name="x", labels={}, prepare=fail, predict=lambda _: Predicted(linear=1, core=1)
    )
    assert lack(subject, Case(length=100), {10: 1000}) is None
    assert lack(subject, Case(length=100), {1000: 1000, 2000: 10**18}) is None
    assert not asked
    assert lack(subject, Case(length=100), {10: 10**14}) is None, "what fails is tried"
    assert asked == [100]


def test_functions_over_real_tensors_can_be_asked_and_are_left_alone():
    rows = torch.ones(1 << 10, 1)

    def prepare(case):
        wide = rows.expand(1 << 10, case.length)
        return lambda: wide + 1

    subject = Subject(
        name="x", labels={}, prepare=prepare, predict=lambda _: Predicted(linear=1, core=1)
    )
    assert lack(subject, Case(length=100), {}) is None
    n = 1 << 24
    more = Subject(
        name="y",
        labels={},
        prepare=lambda case: lambda: [rows.expand(1 << 10, n) + i for i in range(100)],
        predict=lambda _: Predicted(linear=1, core=1),
    )
    assert needed(lack(more, Case(length=n), {})) == show(100 * 4 * n << 10, "bytes")
    assert torch.equal(rows, torch.ones(1 << 10, 1))


def test_what_looks_at_numbers_cannot_be_asked_and_is_tried():
    x = torch.rand(10)
    subject = Subject(
        name="x",
        labels={},
        prepare=lambda case: lambda: float((x + 1).sum().item()),
        predict=lambda _: Predicted(linear=1, core=1),
    )
    assert lack(subject, Case(length=1), {}) is None


def test_a_footprint_of_the_call_is_that_of_its_module():
    call = layer("naive").prepare(Case(length=64))
    with torch.inference_mode():
        assert call.footprint("cpu").above == ac.memory(call.module, *call.inputs).above
