import pytest
import torch
from benchmarks.counting_modules import MultiHead, by_matmul, by_sdpa
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

import attncost as ac
from attncost.cost.counting.count import count

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


def test_modules_own_what_their_gradients_cost():
    found = count(MultiHead(by_matmul), learning(), training=True)
    projection = 2 * 512**3
    expected = dict.fromkeys(("query", "key", "value", "out"), 3 * projection)
    costs = {name: cost.dense for name, cost in found.by_module.items()}
    assert costs == {"": 3 * (4 * projection + 4 * 512**3)} | expected
    assert list(costs) == ["", "query", "key", "value", "out"]


def test_a_shared_module_is_counted_each_time_and_its_weights_once():
    layer = nn.Linear(8, 8)
    found = count(nn.Sequential(layer, layer), torch.randn(3, 8))
    assert (found.dense, found.parameters) == (2 * 2 * 3 * 8 * 8, 72)
    assert found.by_module["0"].dense == found.dense


def test_products_with_weights_are_told_from_those_of_activations():
    found = count(MultiHead(by_matmul), learning(), training=True)
    steps = {step: cost.dense for step, cost in found.by_step.items() if cost.dense}
    assert steps == {"weights": 3 * 8 * 512**3, "activations": 3 * 4 * 512**3}
    assert found.attention_share == pytest.approx(1 / 3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_that_autocast_narrows_are_weights(dtype):
    module = MultiHead(by_matmul)
    with torch.autocast("cpu", dtype):
        found = count(module, X)
    assert found.by_step["weights"].dense == 8 * 512**3


def test_attention_and_nothing_else_is_attention():
    q = torch.randn(2, 4, 6, 8)
    found = count(scaled_dot_product_attention, q, q, q, is_causal=True)
    assert (found.useful, found.dense) == (4 * 2 * 4 * 21 * 8, 4 * 2 * 4 * 36 * 8)
    assert found.attention_share == 1
    (row,) = found.attention
    assert row.shape == (2, 4, 4, 6, 6, 8, 8)
    assert (row.useful, row.dense, row.calls) == (168, 288, 1)


def test_our_attention_is_counted_by_its_pattern():
    q = torch.randn(1, 2, 512, 16)
    pattern = ac.Window(width=64)
    found = count(ac.attention, q, q, q, pattern)
    pairs = 2 * int(pattern.mask(512, 512).sum())
    assert found.useful == 4 * 16 * pairs
    assert found.dense == 4 * 16 * 2 * 512 * 512
    assert found.useful < found.executed < found.dense
    (row,) = found.attention
    assert (row.function, row.useful) == ("attention", pairs)


@pytest.mark.parametrize("pattern", [ac.Causal(), ac.Window(width=64), ac.Strided(stride=16)])
def test_our_attention_trains_at_three_times_its_forward_pass(pattern):
    q, k, v = torch.randn(3, 1, 2, 256, 16).requires_grad_().unbind()
    found = count(ac.attention, q, k, v, pattern, training=True)
    assert found.dense == 3 * found.forward.dense
    assert found.useful == 3 * found.forward.useful
    assert found.executed >= 3 * found.forward.executed


def test_intensity_is_flops_for_each_byte():
    module = nn.Linear(64, 32, bias=False)
    found = count(module, torch.randn(16, 64))
    assert found.executed == 2 * 16 * 64 * 32
    assert found.bytes == 4 * (16 * 64 + 64 * 32 + 16 * 32)
    assert found.intensity == found.executed / found.bytes


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


def test_training_without_gradients_is_refused():
    with pytest.raises(ac.ShapeError, match="needs gradients, which are off here"), torch.no_grad():
        count(nn.Linear(2, 2), torch.randn(1, 2), training=True)
    with pytest.raises(ac.ShapeError, match="needs an output with a gradient"):
        count(torch.relu, torch.randn(2), training=True)
