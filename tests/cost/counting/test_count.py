import pytest
import torch
from benchmarks.counting_modules import MultiHead, by_matmul
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

import attncost as ac
from attncost.cost.counting.count import count
from attncost.cost.counting.scores import MASKED

X = torch.randn(1, 512, 512)


def test_modules_own_what_their_gradients_cost():
    found = count(MultiHead(by_matmul), X.clone().requires_grad_(), training=True)
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


def test_intensity_is_flops_for_each_byte():
    module = nn.Linear(64, 32, bias=False)
    found = count(module, torch.randn(16, 64))
    assert found.executed == 2 * 16 * 64 * 32
    assert found.bytes == 4 * (16 * 64 + 64 * 32 + 16 * 32)
    assert found.intensity == found.executed / found.bytes


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_mask_on_scores_written_by_hand_is_an_upper_bound(device):
    def attend(q, hidden):
        scores = (q @ q.mT / 2).masked_fill(hidden, -1e9)
        return scores.softmax(-1) @ q

    q, hidden = torch.randn(2, 6, 4), torch.ones(6, 6).triu(1).bool()
    masked = count(attend, q.to(device), hidden.to(device))
    assert masked.useful == masked.dense
    assert masked.at_most == (MASKED,)
    if device == "cpu":
        assert not count(attend, q, torch.zeros(6, 6).bool()).at_most
    assert not count(lambda q: (q @ q.mT / 2).softmax(-1) @ q, q.to(device)).at_most


@pytest.mark.parametrize("kind", ["gemma2", "gpt_oss"])
def test_models_that_write_attention_by_hand_say_at_most(kind):
    transformers = pytest.importorskip("transformers")
    sizes = {
        "vocab_size": 50,
        "hidden_size": 32,
        "intermediate_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "sliding_window": 8,
        "pad_token_id": None,
    }
    config = transformers.AutoConfig.for_model(kind, **sizes)
    model = transformers.AutoModel.from_config(config, attn_implementation="eager").eval()
    found = count(model, torch.zeros(1, 16, dtype=torch.long))
    assert found.at_most == (MASKED,)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("cast", [torch.float32, torch.float64])
def test_scores_are_followed_through_casts_and_in_place(masked, cast):
    def attend(q, mask):
        scores = q @ q.mT
        scores *= 0.5
        scores += mask
        return scores.to(cast).softmax(-1).to(q) @ q

    mask = torch.full((6, 6), -1e9).triu(1) if masked else torch.zeros(6, 6)
    assert bool(count(attend, torch.randn(2, 6, 4), mask).at_most) is masked


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_scripted_parts_are_counted_with_the_module_around_them():
    module = nn.Sequential(torch.jit.script(nn.Linear(4, 4)), nn.Linear(4, 4))
    found = count(module, torch.randn(2, 4))
    assert found.dense == 2 * found.by_module["1"].dense
