"""Attention over a plan: step by step, merged by log-sum-exp, without n x m anything.

    forward:   out = sum of out_i exp(lse_i - lse),  lse = log sum of exp(lse_i)
    backward:  each step with the `lse` and `out` of whole rows, so that no step needs another

Sums over steps are kept in float32, or float64 for float64. Going back, half-precision tiles are
widened to float32, which is more exact and on most CPUs faster. A sink joins the rows at the end.
"""

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from attncost.core.options import Options
from attncost.kernels.fused import side_by_side
from attncost.kernels.pieces import Job, Piece, together
from attncost.kernels.plan import Plan
from attncost.kernels.tiles import fused, fused_backward, plain, plain_backward

# Numbers that written-out scores take for each pair: scores, weights, their gradients.
_WRITTEN = 4


def forward(
    q: Float[Tensor, "b h n d"],
    k: Float[Tensor, "b g m d"],
    v: Float[Tensor, "b g m e"],
    plan: Plan,
    options: Options,
) -> tuple[Float[Tensor, "b h n e"], Float[Tensor, "b h n"]]:
    """Return averages, and log-sum-exps without the sink in the type of the sums."""
    (b, h, n, d), e, dtype = q.shape, v.shape[3], q.dtype
    plainly = _needs_scores(q, options)
    if not plainly:
        q, k, v = (side_by_side(x, max(d, e)) for x in (q, k, v))
    options, (q, k, v) = together(options, q, k, v)
    total_out = q.new_zeros(b, h, n, e, dtype=_sums(dtype) if plan.merges else dtype)
    total_lse = q.new_full((b, h, n), -math.inf, dtype=_sums(dtype))
    out, lse = total_out.view(*q.shape[:3], e), total_lse.view(q.shape[:3])
    written = _WRITTEN if plainly else 0
    for piece in Job(plan, options, q, k, _scale(options, d), written, back=False).pieces():
        i, heads, rows, keys = (
            piece.sequence,
            piece.heads,
            piece.where.step.queries,
            piece.where.step.keys,
        )
        q_, k_, v_ = rows.take(q[i, heads]), keys.take(k[i]), keys.take(v[i])
        if plainly:
            q_, k_, v_ = (x.to(lse.dtype) for x in (q_, k_, v_))
        found, found_lse = (plain if plainly else fused)(q_, k_, v_, piece.tiles)
        _merge(piece, out[i, heads], lse[i, heads], found[..., :e], found_lse)
    if options.sink is not None:
        total = _with_sink(lse, options.sink)
        out *= (lse - total.masked_fill(total.isneginf(), 0)).exp()[..., None]
    return total_out.to(dtype), total_lse


@final
@dataclass(frozen=True, slots=True, eq=False)
class Gradients:
    """Sums that grow piece by piece; None where nobody asked."""

    q: Float[Tensor, "b h n d"]
    k: Float[Tensor, "b g m d"]
    v: Float[Tensor, "b g m e"]
    bias: Float[Tensor, "_ _ _ _"] | None
    alibi: Float[Tensor, "h"] | None
    sink: Float[Tensor, "h"] | None


def backward(
    grad: Float[Tensor, "b h n e"],
    saved: tuple[Tensor, Tensor, Tensor, Tensor, Tensor],
    plan: Plan,
    options: Options,
    wanted: tuple[bool, bool, bool],
) -> Gradients:
    """Return the gradients.

    Args:
        grad: Of the output.
        saved: q, k, v, output and log-sum-exps.
        plan: As forward.
        options: As forward.
        wanted: Whether those of bias, alibi and sink are.
    """
    (q, k, v, out, lse), heads = saved, saved[0].shape[1]
    d, e, shapes = q.shape[3], v.shape[3], [x.shape for x in saved[:3]]
    plainly = _needs_scores(q, options) or wanted[0] or wanted[1]
    if not plainly:
        q, k, v, out, grad = (side_by_side(x, max(d, e)) for x in (q, k, v, out, grad))
    options, (q, k, v, out, grad) = together(options, q, k, v, out, grad.contiguous())
    lse = lse.reshape(q.shape[:3])
    total = lse if options.sink is None else _with_sink(lse, options.sink)
    # A row that reads nothing has no weight: exp(-inf - 0) = 0.
    total = total.masked_fill(total.isneginf(), 0)
    sums = _zeros(options, (q, k, v), (d, d, e), wanted)
    written = _WRITTEN if plainly else 0
    for piece in Job(plan, options, q, k, _scale(options, d), written, back=True).pieces():
        i, rows, keys = piece.sequence, piece.where.step.queries, piece.where.step.keys
        mine = (x[i, piece.heads] for x in (grad, q, out))
        grad_, q_, out_ = (rows.take(x).to(lse.dtype) for x in mine)
        k_, v_ = (keys.take(x[i]).to(lse.dtype) for x in (k, v))
        lse_ = rows.take(total[i, piece.heads, :, None]).squeeze(-1)
        if plainly:
            *found, scores = plain_backward(grad_, q_, k_, v_, out_, lse_, piece.tiles)
            _add_to_scores(sums, options, piece, scores)
        else:
            found = list(fused_backward(grad_, q_, k_, v_, out_, lse_, piece.tiles))
        (rows.put if piece.where.step.fresh else rows.add)(
            sums.q[i, piece.heads], found[0][..., :d]
        )
        keys.add(sums.k[i], found[1][..., :d])
        keys.add(sums.v[i], found[2][..., :e])
    if sums.sink is not None and options.sink is not None:
        towards = (grad * out).sum(-1, dtype=lse.dtype)
        sums.sink.sub_(((options.sink[:, None] - total).exp() * towards).sum((0, 2)))
    return Gradients(
        sums.q.view(shapes[0]),
        sums.k.view(shapes[1]),
        sums.v.view(shapes[2]),
        sums.bias,
        None if sums.alibi is None else sums.alibi.view(-1, heads).sum(0),
        None if sums.sink is None else sums.sink.view(-1, heads).sum(0),
    )


def _needs_scores(q: Tensor, options: Options) -> bool:
    """Say whether PyTorch's fused attention cannot do it."""
    return q.device.type != "cpu" or options.softcap is not None or bool(options.dropout_p)


def _scale(options: Options, d: int) -> float:
    return d**-0.5 if options.scale is None else options.scale


def _sums(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


def _with_sink(lse: Tensor, sink: Tensor) -> Tensor:
    return torch.logaddexp(lse, sink.to(lse.dtype)[:, None])


def _merge(piece: Piece, out: Tensor, lse: Tensor, found: Tensor, found_lse: Tensor) -> None:
    """Put what a piece found into its rows."""
    rows, lse = piece.where.step.queries, lse[..., None]
    if piece.where.step.fresh:
        rows.put(out, found)
        rows.put(lse, found_lse[..., None])
        return
    before, more = rows.take(lse), found_lse[..., None]
    total = torch.logaddexp(before, more)
    known = total.masked_fill(total.isneginf(), 0)
    rows.put(out, rows.take(out) * (before - known).exp() + found * (more - known).exp())
    rows.put(lse, total)


def _zeros(
    options: Options,
    qkv: tuple[Tensor, Tensor, Tensor],
    features: tuple[int, int, int],
    wanted: tuple[bool, bool, bool],
) -> Gradients:
    dtype = _sums(qkv[0].dtype)
    q, k, v = (
        x.new_zeros(*x.shape[:3], f, dtype=dtype) for x, f in zip(qkv, features, strict=True)
    )
    bias, alibi, sink = (
        torch.zeros_like(x, dtype=dtype) if x is not None and asked else None
        for x, asked in zip((options.bias, options.alibi, options.sink), wanted, strict=True)
    )
    return Gradients(q, k, v, bias, alibi, sink)


def _add_to_scores(sums: Gradients, options: Options, piece: Piece, scores: Tensor) -> None:
    """Add the gradient of the scores to that of the bias and of the slopes."""
    if sums.alibi is not None:
        assert piece.distance is not None
        sums.alibi[piece.heads] -= (scores * piece.distance).sum((0, 2, 3))
    if sums.bias is not None:
        over = [axis for axis, size in enumerate(sums.bias.shape) if axis and size == 1]
        scores = scores.sum(over, keepdim=True) if over else scores
        place = piece.where.in_bias(sums.bias, piece.sequence, piece.heads)
        sums.bias.index_put_(place, scores, accumulate=True)
