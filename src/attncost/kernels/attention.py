"""Exact attention under any pattern: check the call, take the best kernel, keep the laws."""

from contextlib import nullcontext
from typing import Literal, Unpack, overload

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function

from attncost.core.autocast import autocast_type
from attncost.core.errors import ShapeError
from attncost.core.options import Options, Wishes
from attncost.kernels.choose import chosen, every
from attncost.kernels.finite import guarded
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern

every()  # now, since `torch.compile` cannot trace the search


@overload
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: Pattern = ...,
    *,
    return_lse: Literal[False] = ...,
    kernel: str = ...,
    **wishes: Unpack[Wishes],
) -> Tensor: ...
@overload
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: Pattern = ...,
    *,
    return_lse: Literal[True],
    kernel: str = ...,
    **wishes: Unpack[Wishes],
) -> tuple[Tensor, Tensor]: ...
def attention(
    q: Float[Tensor, "b h n d"],
    k: Float[Tensor, "b g m d"],
    v: Float[Tensor, "b g m e"],
    pattern: Pattern = Full(),
    *,
    key_mask: Bool[Tensor, "b m"] | None = None,
    segments: Int[Tensor, "b t"] | None = None,
    bias: Float[Tensor, "#b #h #n #m"] | None = None,
    alibi: Float[Tensor, "h"] | None = None,
    softcap: float | None = None,
    sink: Float[Tensor, "h"] | None = None,
    scale: float | None = None,
    dropout_p: float = 0.0,
    return_lse: bool = False,
    kernel: str = "auto",
) -> Float[Tensor, "b h n e"] | tuple[Float[Tensor, "b h n e"], Float[Tensor, "b h n"]]:
    """Compute softmax attention in which each query reads the keys that `pattern` allows.

    A row that reads nothing is exactly 0. Fewer heads in `k` and `v` than in `q` are shared. A
    score is `softcap * tanh(q k scale / softcap) + bias - alibi * |distance|`.

    Args:
        q: Queries.
        k: Keys.
        v: Values.
        pattern: Which key each query reads; the last query stands at the last key.
        key_mask: True where a key may be read: padding on any side, holes, cache tails.
        segments: A number for each of the `t = max(n, m)` last tokens; tokens with different
            numbers never meet (packed documents).
        bias: Added to the scores; may have a gradient.
        alibi: Slope for each head, which lowers a score for each token of distance; Press et al.
            2021, arXiv:2108.12409.
        softcap: Bound of the absolute scores; Gemma 2, arXiv:2408.00118.
        sink: A score for each head that takes part in the softmax and has no value; Xiao et al.
            2023, arXiv:2309.17453, learned as in gpt-oss.
        scale: Factor of the scores; `head_dim ** -0.5` if left out.
        dropout_p: Probability to drop a weight, whether in training or not; the same seed of
            `torch.manual_seed` drops the same weights in every kernel.
        return_lse: Also return the log-sum-exp of each row of scores, without a gradient; the sink
            is not among them.
        kernel: The name of a kernel, or "auto" for the best.

    Raises:
        ShapeError: If the tensors do not belong together.
        UnsupportedOption: If the kernel asked for cannot honour the call.
        UnknownName: If there is no such kernel.
    """
    for name, x in (("q", q), ("k", k), ("v", v)):
        if not isinstance(x, torch.Tensor):
            raise ShapeError(f"{name} must be a tensor, got a {type(x).__name__}.")
    wishes: Wishes = {
        "key_mask": key_mask,
        "segments": segments,
        "bias": bias,
        "alibi": alibi,
        "softcap": softcap,
        "sink": sink,
        "scale": scale,
        "dropout_p": dropout_p,
    }
    if has_torch_function((q, k, v)):
        # Whoever watches PyTorch's functions meets this one as a whole, as if it were among them.
        return handle_torch_function(
            attention,  # type: ignore[arg-type]
            (q, k, v),
            q,
            k,
            v,
            pattern,
            return_lse=return_lse,
            kernel=kernel,
            **wishes,  # type: ignore[arg-type]
        )
    kind = q.device.type
    narrow = autocast_type(kind)
    if narrow is not None and q.dtype != torch.float64:
        q, k, v = (x.to(narrow) for x in (q, k, v))
    seed = torch.randint(2**62, (), device="cpu") if dropout_p else None
    options = Options(seed=seed, return_lse=return_lse, **wishes)
    best = chosen(q, k, v, pattern, options, kernel)
    # What is computed in float32 for a reason must stay so.
    with nullcontext() if narrow is None else torch.autocast(kind, enabled=False):
        output = guarded(best.run, q, k, v, pattern, options)
    return output.out if output.lse is None else (output.out, output.lse)
