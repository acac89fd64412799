"""The arithmetic of a batch of tiles, forward and backward, in two ways.

`fused` is PyTorch's flash attention for CPUs, which returns its log-sum-exp and takes a global one
on the way back. `plain` writes the softmax out, for what the fused one does not know: other
devices, soft-capping, dropout, gradients of what is added to the scores. Both return 0 and -inf
for a row that reads nothing.
"""

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

_FLASH = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_FLASH_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Tiles:
    """What happens to the scores of `t` tiles of `c` queries and `r` keys in `g` heads.

    Attributes:
        scale: Factor of the products.
        mask: What is read; everything if None.
        bias: What is added.
        softcap: Bound of the scores.
        weights: What each weight is multiplied with after the softmax: dropout.
    """

    scale: float
    mask: Bool[Tensor, "#t #g #c r"] | None = None
    bias: Float[Tensor, "#t #g #c #r"] | None = None
    softcap: float | None = None
    weights: Float[Tensor, "t g c r"] | None = None


def fused(
    q: Float[Tensor, "t g c d"],
    k: Float[Tensor, "t g r d"],
    v: Float[Tensor, "t g r d"],
    tiles: Tiles,
) -> tuple[Float[Tensor, "t g c d"], Float[Tensor, "t g c"]]:
    """Return averages and log-sum-exps; q, k and v must be equally wide."""
    added = _added(tiles, q, k.shape[2])
    out, lse = _FLASH(q, k, v, 0.0, False, attn_mask=added, scale=tiles.scale)
    if added is None:
        return out, lse
    # The fused attention says 0 here.
    return out, lse.masked_fill(added.isneginf().all(-1), -math.inf)


def fused_backward(
    grad: Float[Tensor, "t g c d"],
    q: Float[Tensor, "t g c d"],
    k: Float[Tensor, "t g r d"],
    v: Float[Tensor, "t g r d"],
    out: Float[Tensor, "t g c d"],
    lse: Float[Tensor, "t g c"],
    tiles: Tiles,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of q, k and v; `out` and `lse` are those of whole rows."""
    grads: tuple[Tensor, Tensor, Tensor] = _FLASH_BACKWARD(
        grad,
        q,
        k,
        v,
        out,
        lse,
        0.0,
        False,
        attn_mask=_added(tiles, q, k.shape[2]),
        scale=tiles.scale,
    )
    return grads


def plain(
    q: Float[Tensor, "t g c d"],
    k: Float[Tensor, "t g r d"],
    v: Float[Tensor, "t g r e"],
    tiles: Tiles,
) -> tuple[Float[Tensor, "t g c e"], Float[Tensor, "t g c"]]:
    """Return averages and log-sum-exps."""
    scores, _ = _scores(q, k, tiles)
    top = scores.amax(-1, keepdim=True)
    top = top.masked_fill(top.isneginf(), 0)
    weights = scores.sub_(top).exp_()
    total = weights.sum(-1, keepdim=True)
    lse = (total.log() + top).squeeze(-1)
    if tiles.weights is not None:
        weights *= tiles.weights
    return (weights @ v) / total.masked_fill(total == 0, 1), lse


def plain_backward(
    grad: Float[Tensor, "t g c e"],
    q: Float[Tensor, "t g c d"],
    k: Float[Tensor, "t g r d"],
    v: Float[Tensor, "t g r e"],
    out: Float[Tensor, "t g c e"],
    lse: Float[Tensor, "t g c"],
    tiles: Tiles,
) -> tuple[Tensor, Tensor, Tensor, Float[Tensor, "t g c r"]]:
    """Return the gradients of q, k, v and of the scores after what is added to them."""
    scores, slope = _scores(q, k, tiles)
    weights = scores.sub_(lse[..., None]).exp_()
    towards = grad @ v.mT
    kept = weights
    if tiles.weights is not None:
        towards *= tiles.weights
        kept = weights * tiles.weights
    dv = kept.mT @ grad
    ds = weights * (towards - (grad * out).sum(-1, keepdim=True))
    inner = (ds if slope is None else ds * slope) * tiles.scale
    return inner @ k, inner.mT @ q, dv, ds


def _added(tiles: Tiles, like: Tensor, keys: int) -> Float[Tensor, "_ _ _ _"] | None:
    """Return mask and bias as one number for each pair; a bias stays in the type of the sums."""
    if tiles.mask is None:
        return None if tiles.bias is None else tiles.bias.expand(-1, -1, -1, keys)
    if tiles.bias is None:
        return like.new_zeros(tiles.mask.shape).masked_fill_(~tiles.mask, -math.inf)
    return torch.where(tiles.mask, tiles.bias, -math.inf)


def _scores(q: Tensor, k: Tensor, tiles: Tiles) -> tuple[Tensor, Tensor | None]:
    """Return the scores, and the slope of the soft-capping if there is one."""
    scores, slope = (q * tiles.scale) @ k.mT, None
    if tiles.softcap is not None:
        bent = torch.tanh(scores / tiles.softcap)
        scores, slope = tiles.softcap * bent, 1 - bent**2
    if tiles.bias is not None:
        scores = scores + tiles.bias
    if tiles.mask is not None:
        scores = scores.masked_fill_(~tiles.mask, -math.inf)
    return scores, slope
