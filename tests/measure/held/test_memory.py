import gc
import os
import subprocess
import sys
import threading

import pytest
import torch
from torch import nn
from torch.autograd.profiler import profile

from attncost import UnsupportedOption
from attncost.measure.held.allocator import Memory, profiling, replay
from attncost.measure.held.memory import MemoryMonitor
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.layer import layer_subjects

FLOAT32 = 4


def test_a_sequence_made_by_hand_is_followed_block_by_block():
    with MemoryMonitor("cpu") as meter:
        first = torch.empty(100)
        second = torch.empty(200)
        del first
        third = torch.empty(100)
    assert (meter.peak, meter.live) == (1200, 1200)
    assert (len(second), len(third)) == (200, 100)
    with MemoryMonitor("cpu") as meter:
        fourth = torch.empty(100)
        torch.empty(300)
    assert (meter.peak, meter.live, len(fourth)) == (1600, 400, 100)


def test_a_block_from_before_that_is_freed_inside_counts_nothing():
    before = torch.empty(1000)
    with MemoryMonitor("cpu"):
        seen = torch.empty(1000)
    with MemoryMonitor("cpu") as meter:
        del before, seen
        torch.empty(10)
    assert (meter.peak, meter.live) == (40, 0)


def test_a_block_that_another_thread_frees_is_missed_when_its_address_is_used_again():
    def free_elsewhere(held):
        thread = threading.Thread(target=held.clear)
        thread.start()
        thread.join()

    with MemoryMonitor("cpu") as meter:
        addresses = set()
        for _ in range(10):
            held = [torch.empty(1 << 20)]
            addresses.add(held[0].data_ptr())
            free_elsewhere(held)
    # Never two at once, so each address that was used counts as one that was not handed back.
    assert meter.peak == len(addresses) * (4 << 20)


def test_an_address_that_is_handed_out_again_holds_what_it_was_given_last():
    assert replay([(1, 4), (1, 4), (1, 4)]) == Memory(peak=4, live=4)
    assert replay([(1, 8), (1, 4), (2, 4), (1, -4)]) == Memory(peak=8, live=4)


def test_memory_that_backward_allocates_is_seen():
    x = torch.randn(100, 100, requires_grad=True)
    with MemoryMonitor("cpu") as meter:
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
        call = subject.prepare(Case(length=n))
        with torch.inference_mode():
            call()
            with MemoryMonitor("cpu") as meter:
                call()
        assert meter.peak == pytest.approx(elements * FLOAT32, abs=12)
        assert meter.live == 0


def test_after_an_exception_it_knows_what_was_seen_and_can_be_used_again():
    def fail():
        kept.append(torch.empty(25))
        torch.empty(1 << 50)

    meter, kept = MemoryMonitor("cpu"), []
    with pytest.raises(RuntimeError, match="can't allocate memory"), meter:
        fail()
    assert (meter.peak, meter.live) == (100, 100)
    with meter:
        nn.Linear(10, 10, bias=False)
    assert meter.peak >= 400


def test_one_inside_another_or_inside_a_profiler_is_refused_and_the_outer_goes_on():
    with MemoryMonitor("cpu") as outer:
        kept = torch.empty(25)
        with (
            pytest.raises(UnsupportedOption, match="running profiler or another monitor"),
            MemoryMonitor(),
        ):
            pass
        torch.empty(100)
    assert (outer.peak, len(kept)) == (500, 25)
    with (
        profile(),
        pytest.raises(UnsupportedOption, match="running profiler"),
        MemoryMonitor("cpu"),
    ):
        pass


def test_one_inside_itself_is_refused_and_still_knows_how_to_end():
    with MemoryMonitor("cpu") as meter:
        kept = torch.empty(25)
        with pytest.raises(UnsupportedOption, match="running profiler or another monitor"):
            meter.__enter__()
        torch.empty(100)
    assert (meter.peak, len(kept)) == (500, 25)
    assert not profiling()


@pytest.fixture
def two_gpus(monkeypatch):
    """Let PyTorch say that two GPUs are there, each with 100 bytes in use and a peak of 300."""
    peaks = {0: 300, 1: 300}
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda _: None)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: 100)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: 400)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", peaks.get)
    monkeypatch.setattr(
        torch.cuda, "reset_peak_memory_stats", lambda device: peaks.update({device: 100})
    )
    return peaks


def test_one_inside_another_on_the_same_gpu_is_refused_and_does_not_touch_its_peak(two_gpus):
    with MemoryMonitor("cuda:1") as outer:
        two_gpus[1] = 700
        for same in (MemoryMonitor("cuda"), MemoryMonitor("cuda:1"), outer):
            with pytest.raises(UnsupportedOption, match="another one on the same GPU"):
                same.__enter__()
        with MemoryMonitor("cuda:0") as other:
            two_gpus[0] = 150
    assert (outer.peak, other.peak) == (600, 50)
    with MemoryMonitor("cuda") as again:
        pass
    assert (again.peak, again.live, again.allocated, again.reserved) == (0, 0, 100, 400)


def test_after_a_failure_on_a_gpu_it_can_be_measured_again(two_gpus, monkeypatch):
    def fail(_):
        raise RuntimeError("device-side assert")

    def failing(meter):
        with monkeypatch.context() as broken, meter:
            broken.setattr(torch.cuda, "synchronize", fail)

    with pytest.raises(RuntimeError, match="device-side assert"):
        failing(MemoryMonitor("cuda"))
    with MemoryMonitor("cuda") as meter:
        two_gpus[1] = 130
    assert meter.peak == 30


def test_a_profiler_inside_takes_the_events_and_that_is_said():
    def profiled():
        with profile():
            torch.empty(10)

    with (
        pytest.raises(UnsupportedOption, match="a profiler ran inside the memory monitor"),
        MemoryMonitor("cpu"),
    ):
        profiled()
    with MemoryMonitor("cpu") as meter:
        torch.empty(10)
    assert meter.peak == 40


def test_a_device_that_it_cannot_watch_is_refused():
    with pytest.raises(UnsupportedOption, match="watched on cpu and cuda, got 'mps'"):
        MemoryMonitor("mps")


def test_it_prints_a_short_line_with_units():
    meter = MemoryMonitor()
    assert str(meter) == "not measured"
    with meter:
        kept = torch.empty(1 << 18)
        torch.empty(1 << 18)
    assert str(meter) == "peak 2.00 MiB, live 1.00 MiB above the start"
    assert (meter.allocated, meter.reserved) == (None, None)
    assert len(kept) == 1 << 18


def test_it_knows_nothing_before_its_block_has_ended():
    with (
        MemoryMonitor("cpu") as meter,
        pytest.raises(UnsupportedOption, match="once its block has ended"),
    ):
        meter.peak  # noqa: B018


def test_a_process_that_measures_says_nothing_on_standard_error():
    code = (
        "import os, torch; from attncost.measure.held.memory import MemoryMonitor\n"
        "with MemoryMonitor('cpu') as meter: torch.ones(9)\n"
        "assert meter.peak == 36 and 'KINETO_LOG_LEVEL' not in os.environ"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr == ""


def test_what_you_ask_of_the_profiler_is_left_alone():
    code = (
        "import os, torch; from attncost.measure.held.memory import MemoryMonitor\n"
        "with MemoryMonitor('cpu') as meter: torch.ones(9)\n"
        "assert os.environ['KINETO_LOG_LEVEL'] == '0'"
    )
    environment = os.environ | {"KINETO_LOG_LEVEL": "0"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert "profiler" in done.stderr.lower()


@pytest.mark.device
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_the_allocator_is_asked():
    gc.collect()
    with MemoryMonitor("cuda") as meter:
        kept = torch.empty(1 << 20, device="cuda")
        torch.empty(1 << 20, device="cuda")
    assert (meter.peak, meter.live) == (1 << 23, 1 << 22)
    assert meter.allocated >= len(kept) * FLOAT32
    assert meter.reserved >= meter.allocated
    assert "allocated" in str(meter)


@pytest.mark.device
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_one_inside_another_leaves_the_peak_of_the_outer_alone():
    with MemoryMonitor("cuda") as outer:
        torch.empty(1 << 20, device="cuda")
        with pytest.raises(UnsupportedOption, match="same GPU"), MemoryMonitor("cuda:0"):
            pass
    assert outer.peak == 1 << 22
