"""What PyTorch's fused layers hold: the fast paths of multi-head attention and encoder layers.

With P the bytes of the input, W those of all scores (batch, heads, length, length) and F those of
the hidden units of the feed-forward, the worst moments of attention are

    projecting        3 P projected, and 3 P split into heads
    scoring           3 P and W; a mask is applied to a copy, so W again, and is made of truths
    leaving           3 P, 2 P for the heads side by side and their projection, W if it is asked for
    averaging         3 P, W, P, and the weights averaged over heads

and of an encoder layer all of attention, then P and F and P for the feed-forward. A layer that
normalizes first keeps P more. All scores are there at once: nothing of it is a fused attention.
Nothing is known where oneDNN makes one of the products, see `onednn`.
"""

from torch import Tensor

from attncost.cost.memory.registry import scratch
from attncost.cost.memory.scratch.copies import Argument, size
from attncost.cost.memory.scratch.onednn import multiplies


@scratch("aten::_native_multi_head_attention")
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _: int,
    heads: int,
    *rest: Argument,
    out: Argument,
    **named: Argument,
) -> int | None:
    """Return the bytes of one call of attention, projections included."""
    keywords = ("mask", "need_weights", "average_attn_weights")
    given: dict[str, Argument] = {"mask": None, "need_weights": True, "average_attn_weights": True}
    given |= dict(zip(keywords, rest[4:], strict=False)) | named
    if not all(_plain(x) for x in (query, key, value)) or _by_onednn(query, 0):
        return None
    weights = bool(given["need_weights"])
    worst = _attention(query, heads, given["mask"], weights=weights)
    returned = size(query) + (size(out[1]) if weights else 0)
    if weights and given["average_attn_weights"]:
        worst = max(worst, 3 * size(query) + _scores(query, heads) + returned)
    return worst - returned


@scratch("aten::_transformer_encoder_layer_fwd")
def encoder_layer(
    x: Tensor, _: int, heads: int, *rest: Argument, out: Tensor, **named: Argument
) -> int | None:
    """Return the bytes of one encoder layer."""
    norm_first, hidden = rest[5], int(rest[11].shape[0])
    if not _plain(x) or _by_onednn(x, hidden):
        return None
    mask = named.get("mask", rest[15] if len(rest) > 15 else None)
    own = size(x) if norm_first else 0
    attending = own + _attention(x, heads, mask, weights=False)
    feeding = own + 2 * size(x) + size(x) // x.shape[-1] * hidden
    return max(attending, feeding) - size(out)


def _attention(query: Tensor, heads: int, mask: Tensor | None, *, weights: bool) -> int:
    """Return the bytes of attention at its worst, its result included."""
    whole, scores = size(query), _scores(query, heads)
    masking = 0 if mask is None else scores + (0 if mask.dtype.itemsize == 1 else mask.numel())
    leaving = 2 * whole + (scores if weights else 0)
    return 3 * whole + max(3 * whole, scores + masking, leaving)


def _scores(query: Tensor, heads: int) -> int:
    batch, length, _ = query.shape
    return batch * heads * length * length * query.itemsize


def _plain(x: Tensor) -> bool:
    """Say whether a tensor is one batch, contiguous and not empty."""
    return not x.is_nested and x.is_contiguous() and x.numel() > 0


def _by_onednn(x: Tensor, hidden: int) -> bool:
    """Say whether oneDNN makes the greatest product: projections, scores or the feed-forward."""
    _, length, features = x.shape
    return multiplies(x.dtype, x.numel() * max(3 * features, length, hidden))
