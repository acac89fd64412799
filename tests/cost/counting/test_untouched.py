import pytest
import torch
from torch import nn
from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from attncost.cost.counting.count import count


def small():
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))


def hooks(module):
    kinds = [name for name in vars(module) if "hook" in name]
    return {
        (name, kind): dict(m.__dict__[kind])
        for name, m in module.named_modules()
        for kind in kinds
        if isinstance(m.__dict__[kind], dict)
    }


def test_counting_leaves_no_trace():
    module, x = small(), torch.randn(6, 4).requires_grad_()
    module(x).sum().backward()
    state = {name: value.clone() for name, value in module.state_dict().items()}
    grads = [p.grad for p in (*module.parameters(), x)]
    values = [grad.clone() for grad in grads]
    before, random = hooks(module), torch.get_rng_state()
    count(module, x, training=True)
    after = module.state_dict()
    assert all(torch.equal(state[name], after[name]) for name in state)
    for tensor, grad, value in zip((*module.parameters(), x), grads, values, strict=True):
        assert tensor.grad is grad
        assert torch.equal(grad, value)
    assert hooks(module) == before
    assert torch.equal(torch.get_rng_state(), random)
    assert not _get_current_function_mode_stack()
    assert not _get_current_dispatch_mode_stack()
    assert module.training


def test_an_error_inside_the_module_leaves_no_trace_either():
    class Breaks(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(4)

        def forward(self, x):
            self.norm(x)
            raise RuntimeError("on purpose")

    module = Breaks()
    before = hooks(module)
    with pytest.raises(RuntimeError, match="on purpose"):
        count(module, torch.randn(3, 4))
    assert module.norm.num_batches_tracked == 0
    assert hooks(module) == before
    assert not _get_current_function_mode_stack()
    assert not _get_current_dispatch_mode_stack()


def test_counting_twice_gives_the_same():
    module, x = small(), torch.randn(6, 4)
    assert count(module, x, training=True) == count(module, x, training=True)


def test_outputs_are_those_of_a_module_never_counted():
    torch.manual_seed(0)
    module, x = small(), torch.randn(6, 4)
    torch.manual_seed(1)
    expected = module(x)
    module.load_state_dict(module.state_dict())
    module[1].reset_running_stats()
    count(module, x)
    torch.manual_seed(1)
    assert torch.equal(module(x), expected)


def test_a_graph_made_before_gets_no_gradient():
    weight = torch.randn(4, requires_grad=True)
    count(nn.Linear(4, 4), weight * 2, training=True)
    assert weight.grad is None
