import gc
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.autograd.profiler import profile

from attncost import UnsupportedOption
from attncost.measure.layer import layer_subjects
from attncost.measure.memory import Meter

FLOAT32 = 4


def test_a_sequence_made_by_hand_is_followed_block_by_block():
    with Meter("cpu") as meter:
        first = torch.empty(100)
        second = torch.empty(200)
        del first
        third = torch.empty(100)
    assert (meter.peak, meter.live) == (1200, 1200)
    assert (len(second), len(third)) == (200, 100)
    with Meter("cpu") as meter:
        fourth = torch.empty(100)
        torch.empty(300)
    assert (meter.peak, meter.live, len(fourth)) == (1600, 400, 100)


def test_a_block_from_before_that_is_freed_inside_counts_nothing():
    before = torch.empty(1000)
    with Meter("cpu"):
        seen = torch.empty(1000)
    with Meter("cpu") as meter:
        del before, seen
        torch.empty(10)
    assert (meter.peak, meter.live) == (40, 0)


def test_memory_that_backward_allocates_is_seen():
    x = torch.randn(100, 100, requires_grad=True)
    with Meter("cpu") as meter:
        x.exp().sum().backward()
    assert meter.live == x.numel() * FLOAT32, "the gradient stays"
    assert meter.peak >= 2 * x.numel() * FLOAT32


@pytest.mark.parametrize("qkv", ["separate", "fused"])
@pytest.mark.parametrize("n", [512, 1024])
def test_the_peak_of_the_articles_layer_is_its_closed_form(n, qkv):
    # Elements live at the peak of one forward pass, batch 1, published and measured by others.
    d, h = 512, 8
    closed_forms = {"naive": 2 * n * n * h + 3 * n * d, "full": 5 * n * d}
    for attention, elements in closed_forms.items():
        (subject,) = layer_subjects(d_model=d, heads=h, attentions=[attention], qkv=[qkv])
        call = subject.prepare(n)
        with torch.inference_mode():
            call()
            with Meter("cpu") as meter:
                call()
        assert meter.peak == pytest.approx(elements * FLOAT32, abs=12)
        assert meter.live == 0


def test_after_an_exception_it_knows_what_was_seen_and_can_be_used_again():
    def fail():
        kept.append(torch.empty(25))
        torch.empty(1 << 50)

    meter, kept = Meter("cpu"), []
    with pytest.raises(RuntimeError, match="can't allocate memory"), meter:
        fail()
    assert (meter.peak, meter.live) == (100, 100)
    with meter:
        nn.Linear(10, 10, bias=False)
    assert meter.peak >= 400


def test_one_inside_another_or_inside_a_profiler_is_refused_and_the_outer_goes_on():
    with Meter("cpu") as outer:
        kept = torch.empty(25)
        with pytest.raises(UnsupportedOption, match="running profiler or another Meter"), Meter():
            pass
        torch.empty(100)
    assert (outer.peak, len(kept)) == (500, 25)
    with profile(), pytest.raises(UnsupportedOption, match="running profiler"), Meter("cpu"):
        pass


def test_a_profiler_inside_takes_the_events_and_that_is_said():
    def profiled():
        with profile():
            torch.empty(10)

    with pytest.raises(UnsupportedOption, match="a profiler ran inside the Meter"), Meter("cpu"):
        profiled()
    with Meter("cpu") as meter:
        torch.empty(10)
    assert meter.peak == 40


def test_it_prints_a_short_line_with_units():
    meter = Meter()
    assert str(meter) == "not measured"
    with meter:
        kept = torch.empty(1 << 18)
        torch.empty(1 << 18)
    assert str(meter) == "peak 2.00 MiB, live 1.00 MiB above the start"
    assert (meter.allocated, meter.reserved) == (None, None)
    assert len(kept) == 1 << 18


def test_it_knows_nothing_before_its_block_has_ended():
    with Meter("cpu") as meter, pytest.raises(UnsupportedOption, match="once its block has ended"):
        meter.peak  # noqa: B018


def test_a_process_that_measures_says_nothing_on_standard_error():
    code = (
        "import os, torch; from attncost.measure.memory import Meter\n"
        "with Meter('cpu') as meter: torch.ones(9)\n"
        "assert meter.peak == 36 and 'KINETO_LOG_LEVEL' not in os.environ"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr == ""


@pytest.mark.device
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_the_allocator_is_asked():
    gc.collect()
    with Meter("cuda") as meter:
        kept = torch.empty(1 << 20, device="cuda")
        torch.empty(1 << 20, device="cuda")
    assert (meter.peak, meter.live) == (1 << 23, 1 << 22)
    assert meter.allocated >= len(kept) * FLOAT32
    assert meter.reserved >= meter.allocated
    assert "allocated" in str(meter)
