"""A profile leaves nothing behind, also after an exception, and refuses what cannot be profiled."""

import pytest
import torch
from tests.measure.attribution.test_profile import SECONDS, Forward, Net, check_sums, modules, x
from torch import nn
from torch.autograd.profiler import profile as theirs
from torch.nn.modules.module import _has_any_global_hook

from attncost import MemoryMonitor, ShapeError, UnsupportedOption
from attncost.measure.attribution.profile import profile


def kept(module, given):
    return {
        "buffers": {name: buffer.clone() for name, buffer in module.named_buffers()},
        "gradients": [p.grad for p in (*module.parameters(), given)],
        "random": torch.random.get_rng_state(),
        "hooks": [
            len(part._forward_hooks) + len(part._forward_pre_hooks) for part in module.modules()
        ],
        "modes": (module.training, torch.is_grad_enabled(), torch.get_num_threads()),
    }


def check_same(before, after):
    assert before["hooks"] == after["hooks"]
    assert before["modes"] == after["modes"]
    assert torch.equal(before["random"], after["random"])
    for name, buffer in before["buffers"].items():
        assert torch.equal(buffer, after["buffers"][name])
    assert all(a is b for a, b in zip(before["gradients"], after["gradients"], strict=True))
    assert not _has_any_global_hook()
    assert not torch._C._autograd._profiler_enabled()


def test_module_inputs_and_process_are_left_as_they_were():
    net = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout())
    given = torch.randn(4, 8, requires_grad=True)
    net(given).sum().backward()
    before = kept(net, given)
    profile(net, given, training=True, rounds=2)
    check_same(before, kept(net, given))


class Fails(nn.Module):
    """Fails at its n-th call, in the module inside of it."""

    def __init__(self, at, error):
        super().__init__()
        self.calls, self.at, self.error = 0, at, error
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        self.calls += 1
        if self.calls == self.at:
            raise self.error
        return self.norm(x)


@pytest.mark.parametrize("at", [1, 2, 4, 9])
@pytest.mark.parametrize("error", [ValueError("theirs"), KeyboardInterrupt()])
def test_an_exception_leaves_nothing_behind_either(at, error):
    net, given = Net(Fails(at, error)), torch.randn(2, 8, requires_grad=True)
    before = kept(net, given)
    with pytest.raises(type(error)):
        profile(net, given, rounds=3)
    check_same(before, kept(net, given))
    net.middle.calls = 100
    assert profile(net, given, rounds=1).seconds > 0, "the next one works"


def test_a_module_that_catches_an_exception_inside_is_still_followed():
    class Catches(nn.Module):
        def __init__(self):
            super().__init__()
            self.bad, self.good = nn.Linear(3, 3), Forward()

        def forward(self, x):
            try:
                return self.bad(x)
            except RuntimeError:
                return self.good(x)

    found = profile(Catches(), x(), rounds=2)
    assert modules(found)["good"].total_seconds >= SECONDS
    assert modules(found)["bad"].total_seconds < SECONDS
    check_sums(found)


def test_it_refuses_to_run_beside_another_profiler():
    with theirs(), pytest.raises(UnsupportedOption, match="inside a running profiler"):
        profile(nn.ReLU(), x())
    with MemoryMonitor("cpu"), pytest.raises(UnsupportedOption, match="inside a running profiler"):
        profile(nn.ReLU(), x())


def test_a_call_that_starts_a_profiler_of_its_own_is_refused():
    def monitored(x):
        with theirs():
            return x + 1

    with pytest.raises((UnsupportedOption, RuntimeError), match="profiler"):
        profile(monitored, x(), rounds=1)
    assert not torch._C._autograd._profiler_enabled()


def test_what_cannot_be_profiled_is_refused_in_a_line():
    with pytest.raises(ShapeError, match="rounds must be at least 1, got 0"):
        profile(nn.ReLU(), x(), rounds=0)
    with pytest.raises(UnsupportedOption, match="cpu and cuda, got tensors on meta"):
        profile(nn.ReLU(), x().to("meta"))
    with pytest.raises(ShapeError, match="LazyLinear is lazy"):
        profile(nn.LazyLinear(3), x())
    with pytest.raises(ShapeError, match="needs an output with a gradient"):
        profile(nn.ReLU(), x(), training=True)
    with torch.no_grad(), pytest.raises(ShapeError, match="needs gradients, which are off"):
        profile(nn.Linear(8, 8), x(), training=True)
