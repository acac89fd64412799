from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

import attncost as ac
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


def test_what_comes_after_a_count_is_what_would_have_come():
    torch.manual_seed(0)
    module, x = small(), torch.randn(6, 4)
    other = deepcopy(module)
    torch.manual_seed(1)
    expected = [other(x), other(x)]
    torch.manual_seed(1)
    found = [module(x)]
    count(module, x, training=True)
    found.append(module(x))
    assert torch.equal(found[0], expected[0])
    # The same weights are dropped, by norms that were moved once.
    assert torch.equal(found[1], expected[1])
    assert torch.equal(module[1].running_mean, other[1].running_mean)


def test_a_graph_made_before_gets_no_gradient():
    weight = torch.randn(4, requires_grad=True)
    count(nn.Linear(4, 4), weight * 2, training=True)
    assert weight.grad is None


def test_a_graph_of_the_caller_s_that_waits_can_still_go_back():
    class Scales(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.register_buffer("scale", torch.ones(4))
            self.register_buffer("wide", torch.arange(4.0)[None].expand(3, 4))

        def forward(self, x):
            return self.layer(x) * self.scale * self.wide

    module, x = Scales(), torch.randn(3, 4)
    loss = module(x).sum()
    count(module, x, training=True)
    loss.backward()


def test_buffers_made_on_the_way_are_gone():
    class Caches(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("cache", None)

        def forward(self, x):
            self.cache = x
            self.register_buffer("more", x)
            return x

    module = Caches()
    count(module, torch.randn(3))
    assert dict(module._buffers) == {"cache": None}


@pytest.mark.parametrize("called", ["closure", "method"])
def test_functions_and_methods_leave_their_modules_alone(called):
    module, x = small(), torch.randn(6, 4)
    state = {name: value.clone() for name, value in module.state_dict().items()}

    def closure(x):
        return module(x)

    found = count(closure if called == "closure" else module.forward, x, training=True)
    assert found.parameters == sum(p.numel() for p in module.parameters())
    assert found.by_module["module.0" if called == "closure" else "0"].dense
    assert all(p.grad is None for p in module.parameters())
    assert all(torch.equal(state[name], value) for name, value in module.state_dict().items())


def test_going_back_beyond_the_call_is_refused():
    weight = (torch.randn(4, 4, requires_grad=True) * 2).T
    with pytest.raises(ac.ShapeError, match="computed before the call: detach"):
        count(lambda x: x @ weight, torch.randn(3, 4), training=True)


def test_hooks_that_would_train_are_refused():
    module = nn.Linear(2, 2)
    module.weight.register_post_accumulate_grad_hook(lambda p: p.data.zero_())
    before = module.weight.clone()
    with pytest.raises(ac.ShapeError, match="would run hooks that a gradient sets off"):
        count(module, torch.randn(1, 2), training=True)
    assert torch.equal(module.weight, before)


def test_a_lazy_module_is_refused():
    with pytest.raises(ac.ShapeError, match="is lazy and has no sizes"):
        count(nn.LazyLinear(3), torch.randn(2, 4))
