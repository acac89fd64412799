"""What a model of transformers hands to an attention function, in our words; the rest is refused.

Hundreds of models pass what their attention needs as keyword arguments. One that is not known here
could change what is computed, so it is not ignored.
"""

from dataclasses import dataclass
from typing import Any, Final, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attncost.core.errors import UnsupportedOption
from attncost.kernels.documents import unknown

# These say how a model trains or what it returns, and nothing about attention.
_OF_NO_MATTER: Final = frozenset(
    {
        "cache_position",
        "deterministic",
        "max_length_k",
        "max_length_q",
        "num_items_in_batch",
        "output_hidden_states",
        "output_router_logits",
        "return_dict",
        "use_cache",
    }
)
_SINKS: Final = ("s_aux", "sinks")


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arguments:
    """What a model asks of one call, beside queries, keys, values and mask.

    Attributes:
        scaling: Factor of the scores; `head_dim ** -0.5` if None.
        dropout: Probability with which a weight is dropped, 0 outside training.
        is_causal: Whether a query reads nothing after itself, if no mask says so.
        sliding_window: Keys on one side of a query, itself included, that it reads.
        softcap: Bound of the absolute scores.
        position_bias: Added to the scores.
        sink: A score for each head that takes part in the softmax.
        ends: Where the packed documents end, from 0 on: `cu_seq_lens_q`.
        position_ids: Position of each query in its document; some models have more axes of them.
        weights: Whether the weights are asked for.
    """

    scaling: float | None = None
    dropout: float = 0.0
    is_causal: bool | None = None
    sliding_window: int | None = None
    softcap: float | None = None
    position_bias: Float[Tensor, "#b #h #n m"] | None = None
    sink: Float[Tensor, "h"] | None = None
    ends: Int[Tensor, "s"] | None = None
    position_ids: Int[Tensor, "..."] | None = None
    weights: bool = False


def arguments(module: nn.Module, asked: dict[str, Any]) -> Arguments:
    """Return what a model asks.

    Raises:
        UnsupportedOption: If it asks for something that is not known here.
    """
    left = {name: value for name, value in asked.items() if value is not None}
    for name in _OF_NO_MATTER.intersection(left):
        del left[name]
    ends = _ends(module, left.pop("cu_seq_lens_q", None), left.pop("cu_seq_lens_k", None))
    sink = left.pop(next((name for name in _SINKS if name in left), _SINKS[0]), None)
    known = {
        name: left.pop(name)
        for name in ("scaling", "dropout", "is_causal", "sliding_window", "softcap")
        if name in left
    }
    position_bias, position_ids = left.pop("position_bias", None), left.pop("position_ids", None)
    weights = bool(left.pop("output_attentions", False)) or _collected(module)
    if left:
        raise UnsupportedOption(
            f"{type(module).__name__} asks its attention for {', '.join(sorted(left))}, which "
            "attncost does not know: use attn_implementation='eager' or 'sdpa' for this model."
        )
    return Arguments(
        **known,
        position_bias=position_bias,
        sink=sink,
        ends=ends,
        position_ids=position_ids,
        weights=weights,
    )


def _ends(module: nn.Module, of_queries: Tensor | None, of_keys: Tensor | None) -> Tensor | None:
    """Return where packed documents end."""
    one_of_them = (of_queries is None) != (of_keys is None)
    if one_of_them or not (of_queries is None or _equal(of_queries, of_keys)):
        raise UnsupportedOption(
            f"{type(module).__name__} packs queries and keys differently (cu_seq_lens_q and "
            "cu_seq_lens_k differ, or only one of them is given): give both, the same."
        )
    return of_queries


def _equal(a: Tensor, b: Tensor | None) -> bool:
    """Say whether numbers are the same, as far as a compiled call can know."""
    if b is None or unknown(a) is not None:
        return b is not None and a.shape == b.shape
    return torch.equal(a, b)


def _collected(module: Any) -> bool:  # noqa: ANN401 -- theirs is untyped
    """Say whether the model collects weights; GPT-2, for one, does not pass that on."""
    if torch.compiler.is_compiling():
        return False
    from transformers.utils import output_capturing  # noqa: PLC0415 -- optional

    collector: Any = getattr(output_capturing, "_active_collector", None)
    if collector is None:  # private to transformers, so it may move
        return bool(getattr(getattr(module, "config", None), "output_attentions", False))
    return any("attentions" in name for name in collector.get() or ())
