"""What the code of the articles computes: the mistake shown, and the repair of the page checked.

A wrong snippet is written out here in its smallest form; `repaired` holds what the page defines.
"""

import math

import pytest
import torch
from tests.docs.articles import counted, said
from tests.oracle import definition, random_qkv
from torch import nn


def sparse(q, k, v, size=64):
    blocks = list(zip(k.split(size, 1), v.split(size, 1), strict=True))
    rows = [torch.cat([q_ @ k_.mT @ v_ for k_, v_ in blocks], 1) for q_ in q.split(size, 1)]
    return torch.cat(rows, 1)


def test_b_the_sparse_attention_executes_all_of_full_attention():
    q, k, v = torch.randn(3, 1, 512, 64, dtype=torch.float64)
    flops = counted(lambda: sparse(q, k, v))
    assert flops == counted(lambda: (q @ k.mT).softmax(-1) @ v)
    assert said(f"{flops:,} FLOPs")
    out = sparse(q, k, v)
    assert out.shape == (1, 4096, 64)
    # Summed as they should have been, the parts are linear in q: there is no softmax.
    torch.testing.assert_close(out.view(1, 8, 8, 64, 64).sum(2).flatten(1, 2), q @ (k.mT @ v))

    class Sparse(nn.Module):
        def __init__(self):
            self.block_size = 64

    with pytest.raises(AttributeError):
        Sparse()(q, k, v)


def test_b_block_attention_executes_an_eighth_and_is_exact(repaired, generator):
    q, k, v = random_qkv(generator, 512, 512, heads=(1, 1), features=(64, 64), batch=2)
    block = torch.arange(512) // 64
    expected, _ = definition(q, k, v, block[:, None] == block)
    module = repaired["BlockAttention"](64)
    torch.testing.assert_close(module(q, k, v), expected)
    flops = counted(lambda: module(q[:1], k[:1], v[:1], kernel="reference"))
    assert flops * 8 == counted(lambda: sparse(q[0], k[0], v[0]))
    assert said(f"{flops:,} FLOPs, an eighth")


def test_c_values_are_projected_with_wv(repaired):
    X, Wq, Wk, Wv = torch.randn(4, 64, 64)  # noqa: N806 -- as the article writes them
    with pytest.raises(NameError, match="Vk"):
        X @ Vk
    v = repaired["project"](X, Wq, Wk, Wv)[2]
    torch.testing.assert_close(v, torch.einsum("nd,de->ne", X, Wv))


def test_d_a_large_negative_score_averages_what_it_hides_and_overflows():
    nothing = torch.zeros(1, 4)
    scores = torch.randn(1, 4)
    assert scores.masked_fill(nothing == 0, -1e9).softmax(-1).tolist() == [[0.25] * 4]
    assert scores.masked_fill(nothing == 0, -math.inf).softmax(-1).isnan().all()
    with pytest.raises(RuntimeError, match="without overflow") as raised:
        scores.half().masked_fill(nothing == 0, -1e9)
    assert said(str(raised.value))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_d_a_row_that_reads_nothing_is_zero(repaired, generator, dtype):
    qkv = [x.detach().to(dtype).requires_grad_() for x in random_qkv(generator, 4, 4)]
    key_mask = torch.tensor([[True, True, False, False], [False] * 4])
    out = repaired["hide_keys"](*qkv, key_mask)
    expected, _ = definition(*(x.double() for x in qkv), key_mask[:, None, None, :])
    torch.testing.assert_close(out.double(), expected, atol=2e-3, rtol=2e-3)
    assert not out[1].any()
    for gradient in torch.autograd.grad(out.sum(), qkv):
        assert gradient.isfinite().all()
        assert not gradient[1].any()


def padded_to(n, lengths):
    return torch.arange(n) < torch.tensor(lengths)[:, None]


def test_e_a_mask_that_meets_the_heads_hides_the_wrong_keys():
    lengths = [4, 3, 2, 1]
    mask = padded_to(4, lengths).float()

    def masked(b, h):
        return torch.zeros(b, h, 4, 4).masked_fill(mask[:b].unsqueeze(1) == 0, -1e9)

    read = [[int((masked(4, 4)[s, h, 0] == 0).sum()) for h in range(4)] for s in range(4)]
    assert read == [lengths] * 4  # by head; by sample it would be the transpose
    wrong = sum(read[s][h] != lengths[s] for s in range(4) for h in range(4))
    assert said(f"{wrong} of 16 are wrong")
    assert masked(4, 1).shape == (4, 4, 4, 4)
    assert masked(1, 8).shape == (1, 8, 4, 4)
    with pytest.raises(RuntimeError, match=r"\(2\) must match .* \(8\)"):
        masked(2, 8)


def test_e_a_key_mask_broadcasts_over_heads_and_queries(repaired):
    lengths = [4, 3, 2, 1]
    scores = repaired["hide_scores"](torch.zeros(4, 4, 4, 4), padded_to(4, lengths))
    assert scores.isfinite().sum(-1).tolist() == [[[length] * 4] * 4 for length in lengths]


def test_f_zeros_are_not_padding():
    sequences = [torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[3.0, 4.0]])]
    padded = nn.utils.rnn.pad_sequence(sequences, batch_first=True)
    mask = padded != 0
    assert mask.shape == (2, 2, 2)
    real = sum(s.numel() for s in sequences)
    assert said(f"{real - int(mask.sum())} of {real} real features taken for padding")


def test_f_a_mask_from_lengths(repaired):
    mask = repaired["padding_mask"]([2, 1, 3])
    assert mask.tolist() == [[True, True, False], [True, False, False], [True, True, True]]


def test_i_the_scale_of_one_head_shrinks_the_scores_of_eight():
    q, k = torch.randn(2, 1, 8, 64, 64, dtype=torch.float64)
    right, wrong = (q @ k.mT / math.sqrt(size) for size in (64, 512))
    assert said(f"{float((right / wrong).mean()):.2f} x")


def test_i_the_layer_equals_that_of_pytorch(repaired):
    layer = repaired["SelfAttention"](64, 8).double()
    theirs = nn.MultiheadAttention(64, 8, batch_first=True, dtype=torch.float64)
    theirs.in_proj_weight, theirs.in_proj_bias = layer.qkv.weight, layer.qkv.bias
    theirs.out_proj.weight, theirs.out_proj.bias = layer.out.weight, layer.out.bias
    x, key_mask = torch.randn(3, 5, 64, dtype=torch.float64), padded_to(5, [5, 3, 1])
    expected, _ = theirs(x, x, x, key_padding_mask=~key_mask)
    torch.testing.assert_close(layer(x, key_mask), expected)


def test_l_an_empty_forward_returns_nothing():
    class LocalAttention(nn.Module):
        def forward(self, x):
            pass

    assert LocalAttention()(torch.ones(1, 4, 8)) is None


def test_l_a_window_reads_its_width(repaired, generator):
    q, k, v = random_qkv(generator, 40, 40)
    at = torch.arange(40)
    behind = at[:, None] - at
    expected, _ = definition(q, k, v, (behind >= 0) & (behind < 16))
    torch.testing.assert_close(repaired["local_attention"](q, k, v, width=16), expected)


def test_m_the_layer_of_the_article_has_no_weights_to_plot():
    class SelfAttention(nn.Module):
        def __init__(self, embed_size):
            super().__init__()
            self.qkv = nn.Linear(embed_size, embed_size * 3)

        def forward(self, x):
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            return (q @ k.mT / math.sqrt(x.shape[2])).softmax(-1) @ v

    assert SelfAttention(16)(torch.ones(1, 4, 16)).shape == (1, 4, 16)
    assert said(f"{8 * 2048**2 * 4 // 10**6} MB for 2,048 tokens and 8 heads")


def test_m_the_picture_is_of_the_weights(repaired):
    layer, x = nn.MultiheadAttention(16, 2, batch_first=True), torch.randn(1, 6, 16)

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = layer

        def forward(self, x):
            return self.attention(x, x, x, need_weights=False)[0]

    _, expected = layer(x, x, x, average_attn_weights=False)
    picture = repaired["picture_of"](Encoder(), x, head=1)
    torch.testing.assert_close(torch.as_tensor(picture.weights), expected[0, 1].detach())
