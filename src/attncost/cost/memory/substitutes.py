"""What runs in the place of operations that a run on fake tensors would otherwise not see rightly.

Two whole layers that PyTorch runs in evaluation have no fake form, so here is what they return. Our
own blockwise attention hides its steps in one operation, so they are run one by one.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from torch import Tensor

from attncost.kernels import operation

# Operations differ in what they take.
Given: TypeAlias = Any


def _encoder_layer(src: Tensor, *_: Given, **__: Given) -> Tensor:
    return src.new_empty(src.shape)


def _multi_head(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    *rest: Given,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    **_: Given,
) -> tuple[Tensor, Tensor | None]:
    """Return the output, and weights if they are needed; `rest` ends with what says so."""
    # Weights and biases of the two projections and the mask come first.
    need_weights, average, *_rest = [*rest[5:], need_weights, average_attn_weights][:2]
    del key, value, embed_dim, _rest
    batch, length = query.shape[:2]
    heads = () if average else (num_head,)
    weights = query.new_empty(batch, *heads, length, length) if need_weights else None
    return query.new_empty(query.shape), weights


RETURNED: Final[dict[str, Callable[..., Any]]] = {
    "aten::_transformer_encoder_layer_fwd": _encoder_layer,
    "aten::_native_multi_head_attention": _multi_head,
}
STEPS: Final[dict[str, Callable[..., Any]]] = {
    "attncost::blockwise": operation._forward._init_fn,
    "attncost::blockwise_backward": operation._backward._init_fn,
}
