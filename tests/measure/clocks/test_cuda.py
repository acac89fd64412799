from types import SimpleNamespace

import pytest
import torch

from attncost.measure.clocks.clock import clock_for
from attncost.measure.clocks.cuda import CudaClock

CACHE = 50 << 20


@pytest.fixture
def gpu(monkeypatch):
    """A GPU on which a call takes 3 ms, emptying the cache 1 ms, and that keeps a diary."""
    diary, now = [], SimpleNamespace(ms=0.0)

    def happens(what, ms=0.0):
        diary.append(what)
        now.ms += ms

    class Event:
        def __init__(self, *, enable_timing):
            assert enable_timing

        def record(self):
            happens("stamp")
            self.at = now.ms

        def elapsed_time(self, later):
            return later.at - self.at

    def empty(size, *, dtype, device):
        assert (dtype, device) == (torch.uint8, "cuda")
        happens(f"buffer {size}")
        return SimpleNamespace(zero_=lambda: happens("empty the cache", 1.0))

    here = SimpleNamespace(L2_cache_size=CACHE)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda: here)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: happens("wait"))
    monkeypatch.setattr(torch, "empty", empty)
    return SimpleNamespace(diary=diary, call=lambda: happens("call", 3.0))


def test_each_call_finds_the_cache_empty_and_emptying_is_not_timed(gpu):
    clock = clock_for("cuda")
    assert clock.time(gpu.call, 3).seconds == pytest.approx(3e-3)
    assert gpu.diary == [
        f"buffer {2 * CACHE}",
        "wait",
        *(3 * ["empty the cache", "stamp", "call", "stamp"]),
        "wait",
    ]


def test_it_says_what_it_is_and_why(gpu):
    assert (clock_for("cuda").name, clock_for("cuda", threads=8).device) == (CudaClock.name, "cuda")
    assert "L2 cache emptied" in CudaClock.name
    assert "stamped on the GPU" in CudaClock.reason


@pytest.mark.device
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_events_wait_for_the_work():
    clock = CudaClock()
    x = torch.randn(4096, 4096, device="cuda")
    clock.time(lambda: x @ x, 3)
    one, many = clock.time(lambda: x @ x, 1), clock.time(lambda: [x @ x for _ in range(20)], 1)
    assert many.seconds > 5 * one.seconds


@pytest.mark.device
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_what_fits_in_the_cache_is_read_more_slowly_when_it_is_emptied():
    x = torch.randn(1 << 22, device="cuda")
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    cold = CudaClock().time(x.sum, 50).seconds
    start.record()
    for _ in range(50):
        x.sum()
    stop.record()
    torch.cuda.synchronize()
    assert cold > 1e-3 * start.elapsed_time(stop) / 50
