"""Blockwise attention as one operation of PyTorch, opaque to `torch.compile`.

A graph holds one node, whatever the pattern, and takes every length: the plan is made when it runs.
An operation takes tensors and numbers only, so a pattern travels taken apart, see `handles`.
"""

from typing import Any

import torch
from torch import Tensor

from attncost.core.errors import UnsupportedOption
from attncost.core.options import Options, Output
from attncost.core.unseen import is_taken_for_finite
from attncost.kernels import blockwise
from attncost.kernels.handles import apart, whole
from attncost.kernels.masks import is_plain
from attncost.kernels.plan import plan
from attncost.patterns.interface import Pattern


def attend(q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, options: Options) -> Output:
    """Run the operation, or what is in it where there is nothing to trace and to differentiate."""
    if _is_plain(q, k, v, options):
        found = blockwise.forward(q, k, v, plan(pattern, q.shape[2], k.shape[2]), options)
        return Output(found[0], found[1] if options.return_lse else None)
    text, numbers = apart(pattern)
    out, lse = _forward(
        q,
        k,
        v,
        options.key_mask,
        options.segments,
        options.bias,
        options.alibi,
        options.sink,
        options.seed,
        text,
        numbers,
        options.softcap,
        options.scale,
        options.dropout_p,
    )
    return Output(out, lse if options.return_lse else None)


@torch.library.custom_op("attncost::blockwise", mutates_args=())
def _forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    key_mask: Tensor | None,
    segments: Tensor | None,
    bias: Tensor | None,
    alibi: Tensor | None,
    sink: Tensor | None,
    seed: Tensor | None,
    pattern: str,
    numbers: list[int],
    softcap: float | None,
    scale: float | None,
    dropout_p: float,
) -> tuple[Tensor, Tensor]:
    options = Options(
        key_mask=key_mask,
        segments=segments,
        bias=bias,
        alibi=alibi,
        sink=sink,
        seed=seed,
        softcap=softcap,
        scale=scale,
        dropout_p=dropout_p,
    )
    steps = plan(whole(pattern, tuple(numbers)), q.shape[2], k.shape[2])
    return blockwise.forward(q, k, v, steps, options)


@torch.library.custom_op("attncost::blockwise_backward", mutates_args=())
def _backward(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    key_mask: Tensor | None,
    segments: Tensor | None,
    bias: Tensor | None,
    alibi: Tensor | None,
    sink: Tensor | None,
    seed: Tensor | None,
    pattern: str,
    numbers: list[int],
    softcap: float | None,
    scale: float | None,
    dropout_p: float,
    wanted: list[bool],
) -> list[Tensor]:
    options = Options(
        key_mask=key_mask,
        segments=segments,
        bias=bias,
        alibi=alibi,
        sink=sink,
        seed=seed,
        softcap=softcap,
        scale=scale,
        dropout_p=dropout_p,
    )
    steps = plan(whole(pattern, tuple(numbers)), q.shape[2], k.shape[2])
    bias_, alibi_, sink_ = wanted
    saved = (q, k, v, out, lse)
    found = blockwise.backward(grad, saved, steps, options, (bias_, alibi_, sink_))
    qkv = [x.to(q.dtype) for x in (found.q, found.k, found.v)]
    learned = zip((found.bias, found.alibi, found.sink), (bias, alibi, sink), strict=True)
    return qkv + [x.to(of.dtype) for x, of in learned if x is not None and of is not None]


@_forward.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, *_: Any) -> tuple[Tensor, Tensor]:  # noqa: ANN401 -- unused
    lse = q.new_empty(q.shape[:3], dtype=torch.promote_types(q.dtype, torch.float32))
    return q.new_empty(*q.shape[:3], v.shape[3]), lse


@_backward.register_fake
def _(grad: Tensor, q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> list[Tensor]:  # noqa: ANN401
    learned = zip((rest[4], rest[5], rest[6]), rest[-1], strict=True)
    like = [q, k, v, *(x for x, asked in learned if asked)]
    return [torch.empty_like(x, memory_format=torch.contiguous_format) for x in like]


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:  # noqa: ANN401
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs[:3], *output, *inputs[3:9])
    ctx.rest = inputs[9:]


def _way_back(ctx: Any, grad: Tensor | None, _: Tensor | None) -> tuple[Tensor | None, ...]:  # noqa: ANN401
    nothing: list[Tensor | None] = [None] * len(ctx.needs_input_grad)
    if grad is None:
        return tuple(nothing)
    wanted = [bool(ctx.needs_input_grad[place]) for place in (5, 6, 7)]
    found = _backward(grad, *ctx.saved_tensors, *ctx.rest, wanted)
    places = [0, 1, 2, *(place for place, asked in zip((5, 6, 7), wanted, strict=True) if asked)]
    for place, gradient in zip(places, found, strict=True):
        nothing[place] = gradient
    return tuple(nothing)


def _no_way_back(*_: Any) -> None:  # noqa: ANN401 -- unused
    raise UnsupportedOption(
        "kernel 'folded' cannot be differentiated twice; use kernel='reference', which can."
    )


_forward.register_autograd(_way_back, setup_context=_remember)
_backward.register_autograd(_no_way_back)


def _is_plain(q: Tensor, k: Tensor, v: Tensor, options: Options) -> bool:
    # Whoever follows what fake tensors do can tell by the operation where our own steps begin.
    if torch.compiler.is_compiling() or is_taken_for_finite(q):
        return False
    tensors = (q, k, v, *options.tensors())
    asked = torch.is_grad_enabled() and any(x.requires_grad for x in tensors)
    return not asked and all(map(is_plain, tensors))
