from dataclasses import dataclass
from threading import Thread

import pytest
import torch
from benchmarks.counting_modules import MultiHead, by_matmul, by_sdpa
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

import attncost as ac
from attncost.cost.counting.count import count
from attncost.cost.counting.watch import Watch

X = torch.randn(1, 512, 512)


class Checkpointed(nn.Module):
    def __init__(self, inner, reentrant):
        super().__init__()
        self.inner, self.reentrant = inner, reentrant

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=self.reentrant)


def learning():
    return X.clone().requires_grad_()


def test_training_is_three_times_the_forward_pass():
    found = count(MultiHead(by_matmul), learning(), training=True)
    assert found.dense == found.executed == 3 * found.forward.dense
    assert found.recomputation.executed == 0


# Korthikanti et al. 2022, arXiv:2205.05198, for what is computed again; the multiples by hand: of
# 12 units (8 for projections, 4 for attention) all but the last projection, 2, run again.
def test_a_checkpoint_computes_all_but_its_last_product_again():
    found = count(Checkpointed(MultiHead(by_matmul), False), learning(), training=True)
    assert found.dense == 3 * found.forward.dense
    assert found.executed / found.forward.dense == pytest.approx(3 + 10 / 12, abs=1e-12)
    assert found.recomputation.executed == found.executed - found.dense


def test_a_reentrant_checkpoint_computes_everything_again():
    found = count(Checkpointed(MultiHead(by_matmul), True), learning(), training=True)
    assert (found.dense, found.executed) == (3 * found.forward.dense, 4 * found.forward.dense)


def test_a_fused_backward_pass_computes_the_scores_again():
    found = count(MultiHead(by_sdpa), learning(), training=True)
    assert found.dense == 3 * found.forward.dense
    assert found.executed / found.forward.dense == pytest.approx(3 + 2 / 12, abs=1e-12)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_of_fused_attention_keeps_the_model_flops(reentrant):
    found = count(Checkpointed(MultiHead(by_sdpa), reentrant), learning(), training=True)
    assert found.dense == 3 * found.forward.dense
    # All four projections or three, attention, and its scores once more within its backward pass.
    again = (8 if reentrant else 6) + 4 + 2
    assert found.executed * 12 == (36 + again) * found.forward.dense
    assert not found.at_least


def test_an_input_without_a_gradient_saves_its_share():
    module = MultiHead(by_matmul)
    with FlopCounterMode(display=False) as theirs:
        module(X).sum().backward()
    assert count(module, X, training=True).dense == theirs.get_total_flops()


@pytest.mark.parametrize("reentrant", [False, True])
def test_what_runs_again_is_no_part_of_any_module_s_model(reentrant):
    found = count(Checkpointed(MultiHead(by_matmul), reentrant), learning(), training=True)
    whole = found.by_module[""]
    assert (whole.useful, whole.dense) == (found.useful, found.dense)
    assert whole.executed == found.executed > found.dense
    assert sum(cost.useful for cost in found.by_step.values()) == found.useful
    assert found.attention_share == pytest.approx(1 / 3)


@pytest.mark.parametrize("pattern", [ac.Causal(), ac.Window(width=64), ac.Strided(stride=16)])
def test_our_attention_trains_at_three_times_its_forward_pass(pattern):
    q, k, v = torch.randn(3, 1, 2, 256, 16).requires_grad_().unbind()
    found = count(ac.attention, q, k, v, pattern, training=True)
    assert found.dense == 3 * found.forward.dense
    assert found.useful == 3 * found.forward.useful
    assert found.executed >= 3 * found.forward.executed


def test_a_loss_is_where_the_backward_pass_begins():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.beside = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            class Output(tuple):
                loss = self.used(x).sum()

            return Output((self.beside(x),))

    found = count(Model(), torch.randn(5, 4), training=True)
    assert found.backward.dense == found.by_module["used"].dense - 2 * 5 * 4 * 4
    assert found.by_module["beside"].dense == 2 * 5 * 4 * 4


def test_a_gradient_penalty_is_no_recomputation():
    class Penalised(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4, bias=False)

        def forward(self, x):
            loss = self.layer(x).square().sum()
            (grad,) = torch.autograd.grad(loss, x, create_graph=True)
            return loss + grad.square().sum()

    found = count(Penalised(), torch.randn(3, 4, requires_grad=True), training=True)
    # y = x W and dx = dy W; back through dx to dy and W, and through y to x and W.
    assert found.dense == (1 + 1 + 2 + 2) * 2 * 3 * 4 * 4
    assert found.recomputation.executed == 0


def test_derivatives_of_functions_are_backward():
    layer, x = nn.Linear(4, 4, bias=False), torch.randn(3, 4)
    found = count(lambda x: torch.func.vjp(layer, x)[1](torch.ones(3, 4)), x)
    assert (found.forward.dense, found.backward.dense) == (2 * 3 * 4 * 4, 2 * 3 * 4 * 4)


@pytest.mark.parametrize("attend", ["sdpa", "ours"])
def test_every_backward_pass_through_attention_counts(attend):
    attention = scaled_dot_product_attention if attend == "sdpa" else ac.attention

    def twice(q):
        y = attention(q, q, q).sum()
        (grad,) = torch.autograd.grad(y, q, retain_graph=True)
        return y + grad.sum()

    q = torch.randn(1, 2, 8, 4, requires_grad=True)
    found = count(twice, q, training=True)
    assert found.dense == (1 + 2 + 2) * found.forward.dense


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("outer", [False, True])
def test_checkpoints_of_bare_functions_nest(outer, inner):
    weight = torch.randn(8, 8, requires_grad=True)

    def inside(x):
        return (x @ weight).relu() @ weight

    def outside(x):
        return checkpoint(inside, x, use_reentrant=inner)

    x = torch.randn(4, 8, requires_grad=True)
    found = count(lambda x: checkpoint(outside, x, use_reentrant=outer), x, training=True)
    product = 2 * 4 * 8 * 8
    assert (found.forward.dense, found.backward.dense) == (2 * product, 4 * product)
    assert found.recomputation.executed >= product


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_backward_pass_in_another_thread_finds_its_modules(reentrant):
    """Autograd takes a thread of its own for every accelerator; here it is given one."""

    def parts(threaded):
        torch.manual_seed(0)
        module = nn.Sequential(*(Checkpointed(nn.Linear(8, 8), reentrant) for _ in range(3)))
        watch = Watch("whole", dict(module.named_modules()))
        with watch:
            y = module(torch.randn(4, 8, requires_grad=True))

        def back():
            with watch:
                y.backward(torch.ones_like(y))

        if threaded:
            thread = Thread(target=back)
            thread.start()
            thread.join()
        else:
            back()
        return watch.counted(parameters=0)

    here, there = parts(False), parts(True)
    assert here.by_module == there.by_module
    assert here.dense == there.dense == 3 * here.forward.dense


def test_outputs_in_dataclasses_go_back_too():
    @dataclass
    class Output:
        hidden: torch.Tensor

    layer = nn.Linear(4, 4)
    found = count(lambda x: Output(layer(x)), torch.randn(2, 4), training=True)
    assert found.dense == 2 * found.forward.dense


def test_training_without_gradients_is_refused():
    with pytest.raises(ac.ShapeError, match="needs gradients, which are off here"), torch.no_grad():
        count(nn.Linear(2, 2), torch.randn(1, 2), training=True)
    with pytest.raises(ac.ShapeError, match="needs an output with a gradient"):
        count(torch.relu, torch.randn(2), training=True)
