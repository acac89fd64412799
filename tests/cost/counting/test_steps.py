import pytest
import torch
from benchmarks.counting_modules import MultiHead, by_matmul
from torch import nn

from attncost.cost.counting.count import count

X = torch.randn(1, 512, 512)


def test_a_product_that_learns_nothing_leaves_the_gradients_of_others_alone():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            y = self.layer(x)
            with torch.no_grad():
                angles = x @ x.T
            return y + angles.sum()

    found = count(Model(), torch.randn(5, 8), training=True)
    backward = {row.step: row.cost.dense for row in found.rows if row.phase == "backward"}
    assert backward["weights"] == 2 * 5 * 8 * 8
    assert not backward.get("activations")


def test_quantised_weights_in_buffers_are_weights():
    class Quantised(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("packed", torch.ones(8, 8, dtype=torch.int8))
            self.register_buffer("scale", torch.ones(8))

        def forward(self, x):
            return x @ (self.packed * self.scale)

    assert count(Quantised(), torch.randn(5, 8)).attention_share == 0


def test_a_cache_in_a_buffer_is_no_weight():
    class Caches(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("keys", torch.zeros(8, 6))

        def forward(self, x):
            self.keys[: len(x)].copy_(x)
            return x @ self.keys.T

    assert count(Caches(), torch.randn(5, 6)).attention_share == 1


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace:DeprecationWarning")
def test_a_layer_in_one_operation_is_taken_apart():
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
    x = torch.randn(2, 16, 64)
    with torch.no_grad():
        traced = torch.jit.trace(layer, x, check_trace=False)
        whole, parts = count(traced, x), count(layer, x)
    assert whole.by_step["attention"].dense == parts.by_step["attention"].dense
    assert whole.dense == parts.dense
    assert whole.attention_share == parts.attention_share


def test_products_with_weights_are_told_from_those_of_activations():
    found = count(MultiHead(by_matmul), X.clone().requires_grad_(), training=True)
    steps = {step: cost.dense for step, cost in found.by_step.items() if cost.dense}
    assert steps == {"weights": 3 * 8 * 512**3, "activations": 3 * 4 * 512**3}
    assert found.attention_share == pytest.approx(1 / 3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_that_autocast_narrows_are_weights(dtype):
    module = MultiHead(by_matmul)
    with torch.autocast("cpu", dtype):
        found = count(module, X)
    assert found.by_step["weights"].dense == 8 * 512**3


def test_projections_under_autocast_are_weights():
    module, x = nn.MultiheadAttention(64, 4, batch_first=True), torch.randn(2, 8, 64)
    with torch.autocast("cpu", torch.bfloat16):
        found = count(module, x, x, x)
    assert found.by_step["weights"].dense == 2 * 16 * 64 * 64 * 4
