"""Compiled code runs as it was compiled while it is profiled, and is one module."""

import warnings

import pytest
import torch
from torch import nn
from torch._dynamo.testing import CompileCounter

from attncost import ShapeError
from attncost.measure.attribution.profile import profile


class Own(nn.Module):
    """Hooks of one's own class run beside compiled code, those of PyTorch's classes do not."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        return self.inner(x)


class Net(nn.Module):
    def __init__(self, counter):
        super().__init__()
        self.before = nn.Linear(8, 8)
        self.block = torch.compile(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), backend=counter)
        self.own = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        self.own.compile(backend=counter)
        self.other = torch.compile(Own(), backend=counter)
        self.another = Own()
        self.another.compile(backend=counter)

    def forward(self, x):
        return self.another(self.other(self.own(self.block(self.before(x)))))


@pytest.mark.parametrize("training", [False, True])
def test_a_compiled_module_is_one_and_is_not_compiled_again(training):
    torch._dynamo.reset()
    counter = CompileCounter()
    net, x = Net(counter), torch.zeros(2, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, while it compiles
        net(x)
    compiled = counter.frame_count
    own = net.own._compiled_call_impl
    found = profile(net, x, training=training, rounds=2)
    net(x)
    assert net.own._compiled_call_impl is own
    assert counter.frame_count == compiled > 0
    assert {one.name: (one.kind, one.calls) for one in found.by_module} == {
        "": ("Net", 1),
        "before": ("Linear", 1),
        "block": ("Sequential, compiled", 1),
        "own": ("Sequential, compiled", 1),
        "other": ("Own, compiled", 1),
        "another": ("Own, compiled", 1),
    }
    assert not found.notes
    if training:
        assert all(one.backward_seconds > 0 for one in found.by_module if one.name)


def test_the_stance_of_the_caller_stays():
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(nn.Linear(8, 8), backend=counter)
    with torch.compiler.set_stance("force_eager"):
        profile(compiled, torch.zeros(2, 8), rounds=1)
    assert counter.frame_count == 0


def test_what_cannot_be_called_is_refused_in_a_line():
    with pytest.raises(ShapeError, match="must be a module or a function, got 3"):
        profile(3)
