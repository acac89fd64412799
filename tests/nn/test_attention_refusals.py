"""What the module cannot honour, it refuses in one line, and leaves a cache alone."""

import pytest
import torch

from attncost import (
    Block,
    Causal,
    Full,
    Linear,
    Linformer,
    ShapeError,
    UnsupportedOption,
    Window,
)
from attncost.nn import Attention, DynamicCache, RollingCache, Rope

D, H, N = 32, 4, 40
X = torch.zeros(2, N, D)
SEEN = torch.ones(2, N, dtype=torch.bool)


@pytest.mark.parametrize(
    ("mixing", "context", "wishes", "reason"),
    [
        (Linformer(6), None, {"segments": SEEN.long()}, "weighs no pair .* honour segments: leave"),
        (Linear(causal=True), None, {"segments": SEEN.long()}, "cannot honour segments"),
        (Linformer(6), None, {"cache": DynamicCache()}, r"\(rank=6.* reads ahead, .* Linear\("),
        (Linear(causal=True), X, {}, "what lies before a token, and nothing in context does: take"),
        (
            Causal(),
            X,
            {"cache": DynamicCache()},
            "cache speaks of .* context is another: leave one",
        ),
        (Causal(), X, {"segments": SEEN.long()}, "segments speaks of the tokens of one sequence"),
        (
            Causal(),
            None,
            {"cache": DynamicCache(), "segments": SEEN.long()},
            "each document as its own",
        ),
        (
            Full(),
            None,
            {"cache": DynamicCache()},
            r"Full\(\) reads ahead, .* Full\(\) & Causal\(\)",
        ),
        (Block(8), None, {"cache": DynamicCache()}, r"Block\(.*\) reads ahead"),
        (Window(9), None, {"cache": RollingCache(8)}, r"RollingCache\(8\) lets go of keys that W"),
        (Causal(), None, {"cache": RollingCache(64)}, r"that Causal\(\) may read: take cache_for"),
    ],
)
def test_what_cannot_be_honoured_is_refused(mixing, context, wishes, reason):
    layer = Attention(D, H, mixing, length=N if isinstance(mixing, Linformer) else None)
    with pytest.raises(UnsupportedOption, match=reason) as error:
        layer(X, context, **wishes)
    assert "\n" not in str(error.value)
    assert not wishes.get("cache", DynamicCache()).tokens, "a refused call leaves a cache alone"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"heads": 3}, "heads must divide d_model, got 3 heads for 32 features: give head_dim"),
        ({"heads": 0}, "got 0 heads"),
        ({"kv_heads": 3}, "kv_heads must divide heads, got 3 kv_heads for 4 heads"),
        ({"kv_heads": 0}, "kv_heads must be at least 1, got 0"),
        ({"head_dim": 0}, "head_dim must be at least 1, got 0"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\), got 1.0"),
        ({"rope": Rope(), "head_dim": 5}, "head_dim = 5: make it even"),
        ({"length": 8}, r"Full\(\) takes every length: leave length out, got 8"),
        ({"attention": Linformer(6)}, r"Linformer\(rank=6.*learns .*: give length"),
        ({"attention": Linear(), "length": 8}, r"Linear\(.*takes every length: leave length out"),
        ({"attention": Linformer(6), "length": 0}, "length must be at least 1, got 0"),
    ],
    ids=str,
)
def test_sizes_that_do_not_fit_are_refused(options, reason):
    with pytest.raises(ShapeError, match=reason) as error:
        Attention(**{"d_model": D, "heads": H} | options)
    assert "\n" not in str(error.value)


def test_a_mechanism_refuses_dropout():
    with pytest.raises(UnsupportedOption, match="cannot honour dropout: leave it out"):
        Attention(D, H, Linear(), dropout=0.1)
    with pytest.raises(UnsupportedOption, match="cannot honour dropout: leave it out"):
        Attention(D, H, Linformer(6), length=8, dropout=0.1)


def test_a_first_token_that_reads_ahead_is_refused_as_well():
    with pytest.raises(UnsupportedOption, match="reads ahead"):
        Attention(D, H)(X[:, :1], cache=DynamicCache())


def test_positions_in_two_sequences_are_refused():
    with pytest.raises(UnsupportedOption, match=r"rope speaks of .*, and context is another"):
        Attention(D, H, rope=Rope())(X, X)


def test_learned_tensors_serve_no_more_keys_than_were_declared():
    layer = Attention(D, H, Linformer(6), length=N - 1)
    with pytest.raises(ShapeError, match="learned tensors for at most 39 keys, got 40: cut the"):
        layer(X)
    with pytest.raises(ShapeError, match="at most 39 keys, got 40"):
        layer(X[:, 1:], X)
