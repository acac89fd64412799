"""A profile finds the module that takes the time, adds up, and leaves nothing behind."""

from functools import partial
from itertools import count
from time import perf_counter

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from attncost.measure.attribution.profile import profile

SECONDS = 0.002


def burn(seconds=SECONDS):
    end = perf_counter() + seconds
    while perf_counter() < end:
        pass


class Burn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        burn()
        return gradient * 2


class Forward(nn.Module):
    def forward(self, x):
        burn()
        return x + 1


class Backward(nn.Module):
    def forward(self, x):
        return Burn.apply(x)


class Net(nn.Module):
    """Two cheap layers, and one in the middle that is not."""

    def __init__(self, middle):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.middle = middle
        self.last = nn.Linear(8, 8)

    def forward(self, x):
        return self.last(self.middle(self.first(x)))


def x(*shape):
    return torch.zeros(*(shape or (2, 8)))


def modules(found):
    return {one.name: one for one in found.by_module}


def check_sums(found):
    parts = sum(one.self_seconds for one in found.by_module)
    parts += sum(part.seconds for part in found.elsewhere)
    assert parts == pytest.approx(found.seconds)
    assert sum(part.seconds for part in found.by_kind) == pytest.approx(found.seconds)
    between = sum(part.seconds for part in found.by_kind if part.name == "between operators")
    operators = sum(one.self_seconds for one in found.by_operator)
    assert operators + between == pytest.approx(found.seconds)


def test_the_module_that_takes_the_time_gets_it():
    found = profile(Net(Forward()), x(), rounds=2)
    assert modules(found)["middle"].share > 0.5
    assert modules(found)["middle"].self_seconds >= SECONDS
    assert modules(found)[""].total_seconds >= modules(found)["middle"].total_seconds
    assert [one.name for one in found.by_module] == ["", "first", "middle", "last"]
    assert not found.notes
    check_sums(found)


def test_time_of_the_backward_pass_belongs_to_the_module_that_it_undoes():
    found = profile(Net(Backward()), x(), training=True, rounds=2)
    middle = modules(found)["middle"]
    assert middle.backward_seconds >= SECONDS
    assert middle.share > 0.5
    assert modules(found)["first"].backward_seconds > 0
    check_sums(found)


def test_a_checkpointed_module_is_charged_for_its_second_forward_pass():
    inner = Net(Forward())
    found = profile(
        lambda x: checkpoint(inner, x, use_reentrant=False),
        x().requires_grad_(),
        training=True,
        rounds=2,
    )
    middle = modules(found)["inner.middle"]
    assert middle.calls == 2
    assert middle.backward_seconds >= SECONDS
    check_sums(found)


def test_attention_and_linear_layers_are_told_apart_by_their_operators():
    encoder = nn.TransformerEncoderLayer(16, 2, batch_first=True, dropout=0.0)
    found = profile(encoder, x(1, 32, 16), training=True, rounds=1)
    kinds = {part.name: part.share for part in found.by_kind}
    assert 0 < kinds["attention"] < 1
    assert kinds["linear layers"] > 0
    assert found.attention == kinds["attention"]
    assert any("scaled_dot_product" in one.name for one in found.by_operator)
    by_hand = profile(lambda q: (q @ q.mT).softmax(-1) @ q, x(2, 16, 8), rounds=2)
    assert {"batched products", "softmax"} <= {part.name for part in by_hand.by_kind}
    assert by_hand.attention == 0


def test_the_fast_path_of_an_encoder_stays_on():
    encoder = nn.TransformerEncoderLayer(16, 2, batch_first=True).eval()
    with torch.no_grad():
        found = profile(encoder, x(1, 4, 16), rounds=2)
    assert "aten::_transformer_encoder_layer_fwd" in {one.name for one in found.by_operator}
    assert [one.name for one in found.by_module] == [""], "it calls no module inside"
    assert not found.notes


def test_a_call_that_changes_from_round_to_round_is_said_to():
    turns = count()
    found = profile(lambda x: x.exp() if next(turns) % 2 else x.log(), x(), rounds=1)
    assert "aten::" in found.notes[0]
    assert found.notes[0].startswith("calls differ")


def test_a_module_under_two_names_is_listed_once_with_both():
    net = Net(nn.ReLU())
    net.last = net.first
    found = modules(profile(net, x(), rounds=2))
    assert "last" not in found
    assert (found["first"].calls, found["first"].also) == (2, ("last",))


class Again(nn.Module):
    """Calls itself."""

    def __init__(self):
        super().__init__()
        self.inner = Forward()

    def forward(self, x, depth=2):
        return self(self.inner(x), depth - 1) if depth else x


def test_a_module_that_calls_itself_takes_its_time_once():
    found = profile(Again(), x(), rounds=2)
    assert modules(found)[""].calls == 3
    assert modules(found)["inner"].calls == 2
    assert modules(found)[""].total_seconds <= found.seconds
    check_sums(found)


def test_functions_partials_and_methods_are_the_whole_of_what_they_call():
    layer = nn.Linear(8, 8)

    def twice(x):
        burn()
        return layer(layer(x))

    found = modules(profile(twice, x(), rounds=2))
    assert (found[""].kind, found["layer"].calls) == ("twice", 2)
    assert found[""].self_seconds >= SECONDS
    assert modules(profile(partial(layer), x(), rounds=1))[""].calls == 1
    assert modules(profile(layer.forward, x(), rounds=1))[""].calls == 1


def test_a_tiny_call_of_a_module_without_parameters_has_a_profile():
    found = profile(nn.Identity(), x(), rounds=1)
    assert [one.name for one in found.by_module] == [""]
    assert found.overhead.times.rounds == 1
    check_sums(found)


def test_shapes_tell_calls_apart_where_they_are_asked_for():
    net = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 2))
    with_shapes = profile(net, x(), rounds=1, shapes=True).by_operator
    assert len({one.shapes for one in with_shapes if one.name == "aten::addmm"}) == 2
    without = profile(net, x(), rounds=1).by_operator
    assert [one.calls for one in without if one.name == "aten::addmm"] == [2]


def test_what_the_profiler_costs_is_a_ratio_with_an_interval():
    found = profile(Net(nn.ReLU()), x(), rounds=6).overhead
    assert 0 < found.times.low <= found.times.figure <= found.times.high
    assert found.times.rounds == 6
    assert found.alone_seconds > 0
    assert found.clock == "process CPU time"


def test_several_threads_are_compared_on_the_wall():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found = profile(nn.ReLU(), x(), rounds=1)
    finally:
        torch.set_num_threads(before)
    assert (found.threads, found.overhead.clock) == (2, "wall time")


def test_nothing_is_asked_of_a_gpu_for_a_call_on_a_cpu():
    found = profile(nn.Linear(8, 8), x(), rounds=1)
    assert found.device == "cpu"
    assert not any("cuda" in one.name.lower() for one in found.by_operator)
    assert not torch.cuda.is_initialized()
