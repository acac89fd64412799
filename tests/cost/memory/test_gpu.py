"""The rules of a GPU, on a machine that may have none: held against formulas by hand."""

import pytest
import torch
from tests.cost.memory.layers import Fused
from tests.cost.memory.real_calls import predicted
from torch import nn

import attncost as ac
from attncost.core.errors import UnsupportedOption
from attncost.cost.memory.memory import memory
from attncost.integrations.architecture import bare

BF16, D, H, N = torch.bfloat16, 64, 4, 1024
NOT_SEEN = (
    "scratch of CUDA's kernels, workspaces of its libraries and fast paths of layers are not seen.",
)
SIZES = {
    "vocab_size": 64,
    "hidden_size": D,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": H,
    "pad_token_id": None,
}


def on_gpu(module, *inputs, **options):
    return predicted(module.to(BF16), *inputs, device="cuda", **options)


def tokens(n):
    return torch.empty(1, n, D, dtype=BF16, device="meta")


def test_a_layer_of_fused_attention_holds_what_paper_and_pencil_say():
    found = on_gpu(Fused(D, H), tokens(N))
    # Queries, keys, values, heads side by side and the output.
    assert found.above == 2 * 5 * N * D
    assert (found.device, found.exact, found.at_least) == ("cuda", False, NOT_SEEN)
    kept = on_gpu(Fused(D, H), tokens(N), training=True).by_part["activations"]
    # The same, one number of 32 bits a row and head, and two of random numbers, 512 bytes each.
    assert 0 <= kept - 2 * 5 * N * D - 4 * N * H <= 2 * 512


def models():
    transformers = pytest.importorskip("transformers")
    for kind, auto in (("llama", "AutoModelForCausalLM"), ("bert", "AutoModelForMaskedLM")):
        made = getattr(transformers, auto).from_config
        config = transformers.AutoConfig.for_model(kind, **SIZES, max_position_embeddings=4096)
        yield bare(lambda settled, made=made: made(settled, attn_implementation="sdpa"), config)


@pytest.mark.parametrize("training", [False, True])
def test_nothing_grows_with_the_square_of_the_length(training):
    attention = nn.MultiheadAttention(D, H, dropout=0.1, batch_first=True)
    layers = [
        lambda x: attention(x, x, x, need_weights=False)[0],
        nn.TransformerEncoderLayer(D, H, batch_first=True),
        ac.nn.Attention(D, H),
    ]
    given = [(layer, tokens) for layer in layers]
    given += [
        (model, lambda n: torch.empty(1, n, dtype=torch.long, device="meta")) for model in models()
    ]
    attention.to(BF16)
    for layer, made in given:
        if isinstance(layer, nn.Module):
            layer.to(BF16).train(training)
        one, two = (
            predicted(layer, made(n), training=training, device="cuda").above for n in (N, 2 * N)
        )
        assert two < 2.02 * one


def test_dropout_keeps_truths():
    module, x = nn.Dropout(0.1), torch.empty(N, D, requires_grad=True, device="meta")
    plain, gpu = (predicted(module, x, training=True, device=device) for device in ("cpu", "cuda"))
    assert plain.by_part["activations"] == 2 * 4 * N * D
    assert gpu.by_part["activations"] == (4 + 1) * N * D


def test_blocks_are_multiples_of_512_bytes():
    found = memory(lambda x: x + 1, torch.empty(3, device="meta"), device="cuda")
    assert found.by_part["inputs"] == found.above == 512


def test_a_pattern_that_takes_the_way_of_a_cpu_is_told():
    found = on_gpu(ac.nn.Attention(D, H, ac.Window(16)), tokens(256))
    assert "attention under a pattern runs here as on a CPU" in found.at_least[1]


def test_autocast_is_followed_and_its_rules_are_told():
    with torch.autocast("cpu", BF16):
        found = predicted(Fused(D, H), tokens(N).float(), device="cuda")
    assert "autocast follows the rules of a CPU" in found.at_least[1]


def test_everything_runs_as_before_afterwards():
    def fails(q):
        nn.functional.scaled_dot_product_attention(q, q, q)
        raise ZeroDivisionError

    q = torch.randn(1, 2, 8, 4)
    with pytest.raises(ZeroDivisionError):
        memory(fails, q, device="cuda")
    assert torch.backends.mha.get_fastpath_enabled()
    assert not torch.ops.aten.scaled_dot_product_attention.default.py_kernels
    assert memory(nn.functional.scaled_dot_product_attention, q, q, q).exact


def test_other_devices_are_refused():
    with pytest.raises(UnsupportedOption, match=r"device must be cpu or cuda, .* got mps"):
        memory(torch.sin, torch.randn(3), device="mps")
