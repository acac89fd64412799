"""Rotary embedding against complex numbers and against Hugging Face's Llama."""

import pytest
import torch

from attncost import ShapeError
from attncost.nn.rope import Rope


def turned(x, *, first=0, base=10000.0, dims=None):
    """Return the definition: each pair is one complex number times a unit of its own."""
    n, d = x.shape[2:]
    dims = d if dims is None else dims
    half = dims // 2
    pairs = torch.complex(x[..., :half], x[..., half:dims])
    position = torch.arange(n, dtype=torch.float64) + first
    speed = torch.tensor([base ** (-2 * i / dims) for i in range(half)], dtype=torch.float64)
    pairs = pairs * torch.exp(1j * position[:, None] * speed)
    return torch.cat([pairs.real, pairs.imag, x[..., dims:]], -1)


@pytest.mark.parametrize("rope", [Rope(), Rope(base=500.0), Rope(dims=6), Rope(dims=16)], ids=str)
@pytest.mark.parametrize("first", [0, 1234])
def test_pairs_are_turned_as_complex_numbers(rope, first, generator):
    x = torch.randn(2, 3, 40, 16, dtype=torch.float64, generator=generator)
    expected = turned(x, first=first, base=rope.base, dims=rope.dims)
    torch.testing.assert_close(rope.rotate(x, first), expected)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_hugging_face_turns_the_same_features_by_the_same_angles(share, generator, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    gpt_neox = pytest.importorskip("transformers.models.gpt_neox.modeling_gpt_neox")
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    parameters = {"rope_type": "default", "rope_theta": 500000.0, "partial_rotary_factor": share}
    config = gpt_neox.GPTNeoXConfig(
        hidden_size=64, num_attention_heads=4, rope_parameters=parameters
    )
    q, k = torch.randn(2, 2, 4, 200, 16, generator=generator)
    position = torch.arange(5000, 5200)[None]
    cos, sin = gpt_neox.GPTNeoXRotaryEmbedding(config)(q, position)
    apply = (llama if share == 1 else gpt_neox).apply_rotary_pos_emb
    rope = Rope(base=500000.0, dims=round(16 * share))
    for ours, theirs in zip((q, k), apply(q, k, cos, sin), strict=True):
        torch.testing.assert_close(rope.rotate(ours, 5000), theirs, atol=2e-6, rtol=0)


def test_scores_depend_on_the_distance_alone(generator):
    q, k = torch.randn(2, 1, 2, 30, 8, dtype=torch.float64, generator=generator)
    near, far = (Rope().rotate(q, first) @ Rope().rotate(k, first).mT for first in (0, 900))
    torch.testing.assert_close(near, far)


def test_half_precision_is_rounded_once(generator):
    x = torch.randn(1, 2, 50, 16, generator=generator).bfloat16()
    exact = turned(x.double(), first=2000)
    assert Rope().rotate(x, 2000).dtype == torch.bfloat16
    torch.testing.assert_close(Rope().rotate(x, 2000).double(), exact, atol=1e-3, rtol=2**-8)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Rope(base=0.0), "base must be a number greater than 0, got 0.0"),
        (lambda: Rope(dims=3), r"dims must be even \(.*\), got 3"),
        (lambda: Rope(dims=0), "dims must be even"),
        (lambda: Rope(dims=10).turning(8), "dims must be at most head_dim = 8, got 10"),
        (lambda: Rope().rotate(torch.zeros(1, 1, 2, 5)), "head_dim = 5: make it even, or set dims"),
    ],
)
def test_impossible_pairs_are_refused(make, reason):
    with pytest.raises(ShapeError, match=reason):
        make()
