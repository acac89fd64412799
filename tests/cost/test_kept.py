"""The closed form of activations, against the tensors that autograd saves."""

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks

import attncost as ac
from attncost.core.counts import symbol
from attncost.core.formula import text
from attncost.cost.block import BlockSizes
from attncost.cost.kept import kept_elements
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.layer import layer_subjects


def saved(module, x):
    """Return the bytes of all storages that a backward pass needs, parameters left out."""
    learned = {p.untyped_storage().data_ptr() for p in module.parameters()}
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in learned:
            kept[storage.data_ptr()] = storage
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        module(x)
    return sum(storage.nbytes() for storage in kept.values())


@pytest.mark.parametrize("kv_heads", [4, 2])
@pytest.mark.parametrize(
    ("attention", "length"),
    [(ac.Full(), 64), (ac.Full(), 200), (ac.Causal(), 200), (ac.Causal(), 7)],
    ids=str,
)
def test_a_layer_keeps_what_the_formula_says(attention, kv_heads, length):
    """A figure that users derived by hand: flash-attention issue 899."""
    layer = ac.nn.Attention(64, 4, attention, kv_heads=kv_heads, head_dim=24)
    block = BlockSizes(d_model=64, heads=4, kv_heads=kv_heads, head_dim=24)
    x = torch.randn(1, length, 64)
    assert saved(layer, x) == 4 * kept_elements(block, length=length)


def test_the_folded_kernel_keeps_its_output_by_head_and_by_token():
    layer = ac.nn.Attention(64, 4, ac.Window(32))
    found = saved(layer, torch.randn(1, 1024, 64))
    again = 1024 * 64
    assert found == 4 * (kept_elements(BlockSizes(d_model=64, heads=4), length=1024) + again)


@pytest.mark.parametrize("hidden", [64, 200])
def test_a_block_keeps_what_the_formula_says(hidden):
    block = ac.nn.TransformerBlock(ac.nn.Attention(64, 4, ac.Causal()), hidden=hidden)
    sizes = BlockSizes(d_model=64, heads=4, hidden=hidden)
    x = torch.randn(1, 96, 64, requires_grad=True)
    assert saved(block, x) == 4 * kept_elements(sizes, length=96)


def test_naive_attention_keeps_the_weights_of_all_pairs():
    (subject,) = layer_subjects(d_model=64, heads=4, attentions=["naive"], qkv=["separate"])
    layer = subject.prepare(Case(length=96)).module
    found = saved(layer, torch.randn(1, 96, 64))
    block = BlockSizes(d_model=64, heads=4)
    assert found == 4 * kept_elements(block, length=96, keeps_weights=True)


def test_the_formula_of_a_block():
    d, h = symbol("d"), symbol("h")
    block = BlockSizes(d_model=d, heads=h, hidden=4 * d)
    n = symbol("n")
    assert text(kept_elements(block, length=n)) == "16·n·d + 4·n + h·n"
    layer = BlockSizes(d_model=d, heads=h)
    assert text(kept_elements(layer, length=n, keeps_weights=True)) == "h·n² + 5·n·d"
