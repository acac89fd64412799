"""Faults that people reported of counters, each a property of this one."""

import pytest
import torch
from benchmarks.counting_modules import Flexible, MultiHead, by_matmul, by_operator, by_sdpa
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

import attncost as ac
from attncost.cost.conventions import seen_by_convention
from attncost.cost.counting.count import count

transformers = pytest.importorskip("transformers")


def tiny_llama(layers=2, **sizes):
    given = {
        "vocab_size": 100,
        "hidden_size": 64,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 96,
        "head_dim": 16,
    }
    config = transformers.LlamaConfig(**(given | sizes))
    with torch.device("meta"):
        return transformers.LlamaModel(config).eval()


class VisionTransformer(nn.Module):
    """ViT-B/16 of Dosovitskiy et al. 2020, arXiv:2010.11929, as torchvision has it."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 768, 16, stride=16)
        self.first = nn.Parameter(torch.zeros(1, 1, 768))
        self.positions = nn.Parameter(torch.zeros(1, 197, 768))
        layer = nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(
            layer, 12, norm=nn.LayerNorm(768), enable_nested_tensor=False
        )
        self.head = nn.Linear(768, 1000)

    def forward(self, images):
        patches = self.patches(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.first.expand(len(images), -1, -1), patches], 1)
        return self.head(self.encoder(tokens + self.positions)[:, 0])


def tokens(length):
    return torch.zeros(1, length, dtype=torch.long, device="meta")


# pytorch/pytorch#195460
def test_fused_attention_on_a_cpu_is_not_free():
    q = torch.randn(1, 12, 64, 64)
    assert count(scaled_dot_product_attention, q, q, q).dense == 12_582_912


# pytorch/pytorch#134385
@pytest.mark.filterwarnings("ignore:flex_attention called without:UserWarning")
def test_flex_attention_costs_the_pairs_of_its_window_and_multiplies_blocks():
    q = torch.zeros(1, 8, 1024, 64)
    found = count(Flexible(1024, 128, compiled=False), q, q, q)
    assert found.useful == 4 * 8 * 64 * sum(min(i + 1, 128) for i in range(1024)) == 251_789_312
    # Of 8 x 8 blocks the diagonal and the one before it.
    assert found.executed == 4 * 8 * 64 * 15 * 128**2
    assert found.dense == 4 * 8 * 64 * 1024**2


# pytorch/pytorch#134804
def test_both_products_of_attention_are_counted():
    q = torch.randn(2, 5, 9, 4)
    assert count(scaled_dot_product_attention, q, q, q).dense == 2 * (2 * 2 * 5 * 9 * 9 * 4)


# pytorch/pytorch#126268
def test_inference_mode_counts():
    with torch.inference_mode():
        assert count(MultiHead(by_sdpa), torch.randn(1, 512, 512)).dense == 1_610_612_736


# pytorch/pytorch#177188, pytorch/torchtitan#2055
def test_heads_that_share_keys_count_as_query_heads():
    q, k = torch.randn(1, 8, 256, 64), torch.randn(1, 2, 256, 64)
    found = count(scaled_dot_product_attention, q, k, k, enable_gqa=True)
    assert found.dense == 134_217_728


# facebookresearch/fvcore#153
def test_the_number_of_heads_changes_softmax_alone():
    four, eight = (
        count(nn.MultiheadAttention(64, heads), *[torch.randn(10, 1, 64)] * 3) for heads in (4, 8)
    )
    assert four.dense == eight.dense
    (few,), (many,) = (
        [row.cost.elementwise for row in found.rows if row.step == "attention"]
        for found in (four, eight)
    )
    assert many == 2 * few


# facebookresearch/fvcore#129: 1.258 and 1.078 GMAC for one model
def test_two_counters_differ_by_the_attention_of_a_small_vision_transformer():
    layer = nn.TransformerEncoderLayer(192, 3, 768, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).eval().to("meta")
    found = count(encoder, torch.empty(1, 197, 192, device="meta"))
    attention = found.by_step["attention"].dense
    assert attention == 2 * 12 * 2 * 197**2 * 192
    assert attention / 2e9 == pytest.approx(1.258 - 1.078, abs=0.0015)
    # The larger one also counts norms: 5 for each of 25 x 197 x 192 numbers.
    embedding, norms = 196 * 3 * 16 * 16 * 192 + 192 * 1000, 5 * 25 * 197 * 192
    assert (found.dense / 2 + embedding + norms) / 1e9 == pytest.approx(1.258, abs=0.0005)


# Lyken17/pytorch-OpCounter#197
def test_multihead_attention_of_pytorch_is_not_free():
    x = torch.randn(1, 1000, 100)
    found = count(nn.MultiheadAttention(100, 1, batch_first=True), x, x, x)
    assert (found.dense, found.parameters) == (480_000_000, 40_400)


# sovrasov/flops-counter.pytorch#65, #77
def test_the_operator_counts_as_the_function():
    x = torch.randn(1, 32, 512)
    by_sign, by_name = (count(MultiHead(attend), x) for attend in (by_operator, by_matmul))
    assert by_sign.dense == by_name.dense


# MrYxJ/calculate-flops.pytorch#26, #48
@pytest.mark.parametrize("layers", [1, 3])
def test_flops_bend_with_the_length(layers):
    model = tiny_llama(layers)
    one, two, three = (count(model, tokens(n)).dense for n in (10, 11, 12))
    assert three - 2 * two + one == 8 * layers * 64


# TylerYep/torchinfo#226
def test_a_linear_layer_counts_every_token():
    layer = nn.Linear(16, 8)
    assert count(layer, torch.randn(1, 50, 16)).dense == 2 * 50 * 16 * 8
    assert count(layer, torch.randn(2, 3, 50, 16)).dense == 6 * 2 * 50 * 16 * 8


# TylerYep/torchinfo#226: 173 M multiply-adds
def test_a_vision_transformer_multiplies_every_token_and_pair():
    model = VisionTransformer().to("meta").eval()
    found = count(model, torch.empty(1, 3, 224, 224, device="meta"))
    products = 196 * 768 * 3 * 16**2 + 12 * 197 * 12 * 768**2 + 768 * 1000
    assert found.dense == found.useful == 2 * (products + 12 * 2 * 197**2 * 768)
    assert found.dense / 2e9 == pytest.approx(17.56, abs=0.005)
    assert found.parameters == 86_567_656
    assert not found.at_least


# Dao-AILab/flash-attention#594, pytorch/torchtitan#341, AI-Hypercomputer/maxtext#1972
def test_causal_attention_reads_half_of_the_pairs_and_the_diagonal():
    q = torch.randn(1, 1, 512, 8)
    found = count(scaled_dot_product_attention, q, q, q, is_causal=True)
    assert found.useful == 4 * 8 * 131_328
    assert seen_by_convention(found) == {
        "exact": 4 * 8 * 131_328,
        "half": 4 * 8 * 131_072,
        "dense": 4 * 8 * 262_144,
        "macs": 2 * 8 * 262_144,
    }


# hahnyuan/LLM-Viewer#12, jranaraki/vllm-fit#2: 32 query heads share 8 of keys
def test_a_cache_keeps_the_heads_of_keys_alone():
    model = ac.preset("llama-3-8b")
    assert (model.block.heads, model.block.kv_heads) == (32, 8)
    assert model.kv_bytes_per_token() == 131_072


# NVIDIA/Megatron-LM#3280, allenai/OLMo-core#475, pytorch/torchtitan#4300
def test_a_sliding_window_is_counted_as_one():
    config = transformers.MistralConfig(
        vocab_size=50,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        num_key_value_heads=2,
        sliding_window=16,
        use_cache=False,
    )
    model = transformers.MistralModel(config)
    found = count(model, torch.zeros(1, 64, dtype=torch.long))
    pairs = sum(min(i + 1, 16) for i in range(64))
    assert found.by_step["attention"].useful == 2 * 4 * 32 * pairs
    assert found.by_step["attention"].dense == 2 * 4 * 32 * 64 * 64
    assert not found.at_most


# pytorch/torchtitan#1920: Qwen3-4B has 32 heads of 128 in 2,560 features
def test_heads_may_be_wider_than_the_model():
    model = tiny_llama(1, hidden_size=40, num_attention_heads=4, num_key_value_heads=4, head_dim=16)
    found = count(model, tokens(20))
    assert found.by_step["attention"].dense == 4 * 20 * 20 * 64


# pytorch/torchtitan#4366, verl-project/verl#4959
def test_values_may_have_other_features_than_keys():
    q, v = torch.randn(1, 4, 30, 24), torch.randn(1, 4, 30, 16)
    assert count(scaled_dot_product_attention, q, q, v).dense == 2 * 30 * 30 * 4 * (24 + 16)


# allenai/olmoearth_pretrain#605: published counts left out attention, a factor of 1 + n / 6 d from
# 1.02 to 21.7; they are the first and the last of these.
@pytest.mark.parametrize(
    ("n", "d", "factor"), [(23, 192, 1.02), (12, 64, 1.03), (1536, 64, 5.0), (7949, 64, 21.7)]
)
def test_leaving_attention_out_is_off_by_a_known_factor(n, d, factor):
    layer = nn.TransformerEncoderLayer(d, 4, 4 * d, batch_first=True).to("meta")
    found = count(layer, torch.empty(1, n, d, device="meta"))
    without = found.dense - found.by_step["attention"].dense
    assert found.dense / without == pytest.approx(1 + n / (6 * d), rel=1e-12)
    assert found.dense * 6 * d == without * (6 * d + n)
    assert found.dense / without == pytest.approx(factor, abs=0.005)


# pytorch/pytorch#140909
def test_hooks_are_gone_after_a_count():
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    count(module, torch.randn(2, 4))
    for part in module.modules():
        assert not part._forward_hooks
        assert not part._forward_pre_hooks
        assert not part._forward_hooks_always_called


# deepspeedai/DeepSpeed#4723
@pytest.mark.parametrize("attend", [by_sdpa, by_operator])
def test_attention_is_there_whether_it_is_fused_or_written_with_the_operator(attend):
    found = count(MultiHead(attend), torch.randn(1, 48, 512))
    assert found.dense == 2 * 4 * 48 * 512**2 + 2 * 2 * 48**2 * 512


# deepspeedai/DeepSpeed#4723
def test_every_way_to_write_attention_costs_the_same():
    x = torch.randn(1, 48, 512)
    counts = {count(MultiHead(attend), x).dense for attend in (by_sdpa, by_operator, by_matmul)}
    ours = count(ac.nn.Attention(512, 8), x).dense
    assert counts == {ours}
