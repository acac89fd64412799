"""The windows of other libraries, each written out from its own rule and compared key by key."""

import pytest
import torch

from attncost import Causal, ShapeError, Window
from attncost.patterns.block import Block


def written_out(rule, n, m):
    """Ask a rule of two whole numbers, query and key, for every pair."""
    return torch.tensor([[rule(query, key) for key in range(m)] for query in range(n)])


@pytest.mark.parametrize(("n", "m"), [(9, 9), (4, 9), (9, 4)])
@pytest.mark.parametrize(("left", "right"), [(0, 0), (3, 0), (0, 3), (2, 4), (20, 20)])
def test_flash_attention(left, right, n, m):
    """Dao-AILab/flash-attention, docstring of `flash_attn_func`.

    "Query at position i will only attend to keys between [i + seqlen_k - seqlen_q -
    window_size[0], i + seqlen_k - seqlen_q + window_size[1]] inclusive."
    """
    window = Window.from_flash_attention(left, right)
    expected = written_out(lambda i, j: i + m - n - left <= j <= i + m - n + right, n, m)
    assert torch.equal(window.mask(n, m), expected)
    assert window.flash_attention == (left, right)


@pytest.mark.parametrize("width", [1, 3, 50])
def test_hugging_face(width):
    """huggingface/transformers 5, masking_utils.py, `sliding_window_causal_mask_function`.

    `kv_idx > q_idx - sliding_window` and `kv_idx <= q_idx`.
    """
    expected = written_out(lambda i, j: i - width < j <= i, 12, 12)
    assert torch.equal(Window.from_hugging_face(width).mask(12, 12), expected)


@pytest.mark.parametrize("width", [0, 3, 50])
def test_hugging_face_in_both_directions(width):
    """huggingface/transformers 5, masking_utils.py, `sliding_window_bidirectional_overlay`.

    `abs(q_idx - kv_idx) <= sliding_window`.
    """
    expected = written_out(lambda i, j: abs(i - j) <= width, 12, 12)
    assert torch.equal(Window.from_hugging_face(width, causal=False).mask(12, 12), expected)


@pytest.mark.parametrize("chunk", [1, 3, 50])
def test_chunks_of_hugging_face(chunk):
    """huggingface/transformers 5, masking_utils.py, `chunked_overlay`, which Llama 4 uses.

    `kv_idx // chunk_size == q_idx // chunk_size` and `kv_idx <= q_idx`.
    """
    expected = written_out(lambda i, j: j // chunk == i // chunk and j <= i, 12, 12)
    assert torch.equal(Block(chunk).mask(12, 12) & Causal().mask(12, 12), expected)


@pytest.mark.parametrize("width", [1, 3, 50])
def test_local_attention(width):
    """lucidrains/local-attention, local_attention.py, `exact_windowsize=True`.

    Hidden is `bq_t < bq_k` and `bq_t > bq_k + max_causal_window_size`, which is the window size:
    one key more than its README says.
    """
    expected = written_out(lambda t, k: not (t < k or t > k + width), 12, 12)
    assert torch.equal(Window.from_local_attention(width).mask(12, 12), expected)


@pytest.mark.parametrize("width", [1, 3, 50])
def test_local_attention_in_both_directions(width):
    """lucidrains/local-attention, local_attention.py, `exact_windowsize=True`, not causal.

    Hidden is `bq_k - max_forward_window_size > bq_t` and `bq_t > bq_k + max_backward_window_size`.
    """
    expected = written_out(lambda t, k: not (k - width > t or t > k + width), 12, 12)
    assert torch.equal(Window.from_local_attention(width, causal=False).mask(12, 12), expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Window.from_flash_attention(-1, 0), r"got \(-1, 0\), .* Causal\(\) for \(-1, 0\)"),
        (lambda: Window.from_flash_attention(5, -1), r"ends on both sides, got \(5, -1\)"),
        (lambda: Window.from_hugging_face(None), r"got None: take Causal\(\) or Full\(\)\."),
        (lambda: Window.from_hugging_face(0), r"width must be at least 1 .*, got 0\."),
    ],
)
def test_what_is_no_window_is_explained(make, message):
    with pytest.raises(ShapeError, match=message):
        make()
