"""A model that holds a mechanism is counted as the mechanism's formula says."""

import pytest
import torch
from tests.every import every_mechanism
from tests.integrations.hf import zoo
from torch._subclasses.fake_tensor import FakeTensorMode

from attncost import Causal, Dims, Full, Linear, Linformer, count, hf, kernels, nn
from attncost.nn.learned import needs_length

WHERE = ("eager", "meta", "fake")
D_MODEL, HEADS, KV_HEADS, HEAD_DIM = 32, 4, 2, 8
LONGEST = 150


def layer(mechanism):
    sizes = Dims(heads=HEADS, kv_heads=KV_HEADS, length=1, head_dim=HEAD_DIM)
    length = LONGEST if needs_length(mechanism, sizes) else None
    return nn.Attention(D_MODEL, HEADS, mechanism, kv_heads=KV_HEADS, length=length)


def counted(mechanism, n, where):
    if where == "fake":
        with FakeTensorMode():
            return count(layer(mechanism), torch.empty(2, n, D_MODEL))
    device = "meta" if where == "meta" else "cpu"
    with torch.device(device):
        return count(layer(mechanism), torch.zeros(2, n, D_MODEL))


@every_mechanism
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("n", [1, 65, 150])
def test_what_is_executed_is_what_the_formula_says(mechanism, where, n):
    found = counted(mechanism, n, where)
    dims = Dims(batch=2, heads=HEADS, kv_heads=KV_HEADS, length=n, head_dim=HEAD_DIM)
    projections = 2 * 2 * n * D_MODEL * (2 * HEADS + 2 * KV_HEADS) * HEAD_DIM
    assert found.executed - projections == mechanism.cost(dims).executed
    assert found.useful <= found.executed
    assert not found.unpriced


@pytest.mark.parametrize(
    ("name", "mechanism", "own"),
    [("vit", Linformer(rank=5), Full()), ("llama", Linear(causal=True), Causal())],
)
@pytest.mark.parametrize("where", ["eager", "meta"])
def test_a_model_of_hugging_face_that_was_swapped_is_counted_so_too(name, mechanism, own, where):
    model, batch, n = zoo.ZOO[name](torch.float32), zoo.inputs(name), 17
    if name == "llama":
        n = 100
        batch = {"input_ids": torch.zeros(2, n, dtype=torch.int64)}
    if where == "meta":
        model = model.to("meta")
        batch = {key: x.to("meta") for key, x in batch.items()}
    before = count(model, **batch)
    assert {row.function for row in before.attention} == {"scaled_dot_product_attention"}
    sizes = model.config
    dims = Dims(
        batch=2,
        heads=sizes.num_attention_heads,
        kv_heads=getattr(sizes, "num_key_value_heads", None),
        length=n,
        head_dim=16,
    )
    with hf.swap(model, mechanism, length=n if isinstance(mechanism, Linformer) else None):
        after = count(model, **batch)
    saved = kernels.kernel("sdpa").cost(own, dims).executed - mechanism.cost(dims).executed
    assert before.executed - after.executed == sizes.num_hidden_layers * saved != 0
    assert after.useful <= after.executed
