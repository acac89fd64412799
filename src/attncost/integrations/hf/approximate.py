"""A mechanism in a layer of a model: it mixes all tokens that are no padding, or those before.

A causal model takes causal mechanisms alone. Token by token it hands over the keys of its own
cache, which the mechanism reads again at every step: a state of fixed size has no place there.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attncost.core.autocast import autocast_type
from attncost.core.dims import Dims
from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.integrations.hf.arguments import Arguments
from attncost.integrations.hf.layers import crosses
from attncost.integrations.hf.reads import Reads
from attncost.integrations.hf.settle import for_all
from attncost.integrations.hf.watch import watched
from attncost.mechanisms.interface import Learned, Mechanism
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full


def approximated(
    module: nn.Module,
    mechanism: Mechanism,
    learned: Learned,
    qkv: tuple[Tensor, Tensor, Tensor],
    asked: tuple[Reads, Arguments],
) -> Float[Tensor, "b h n e"]:
    """Return what a mechanism makes of queries, keys and values.

    Raises:
        ShapeError: If its learned tensors are missing or serve fewer keys, or as its `check`.
        UnsupportedOption: If the call has a mask or option that it cannot honour.
    """
    q, k, v = qkv = _narrowed(*qkv)
    reads, arguments = asked
    _check_places(module, mechanism, reads)
    for wish in _wishes(reads, arguments, q.shape[-1]):
        raise UnsupportedOption(
            f"{mechanism} cannot honour {wish}: it weighs no pair of tokens; use a pattern for "
            "this layer."
        )
    dims = Dims.of(q.shape, k.shape, v.shape, itemsize=q.element_size())
    expected = mechanism.parameters(dims)
    if not learned and expected:
        raise ShapeError(
            f"{mechanism} learns {', '.join(expected)}, which this model does not hold: add them "
            "with ac.hf.swap(model, mechanism, length=...)."
        )
    key_mask = for_all(reads.key_mask, q.shape[0])
    out = mechanism.attend(q, k, v, learned, key_mask=key_mask)
    watched(module, qkv, mechanism, {"key_mask": key_mask})
    return out


def _narrowed(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return what exact attention computes with under autocast; rotations leave values alone."""
    narrow = autocast_type(q.device.type)
    if narrow is None or q.dtype == torch.float64:
        return q, k, v
    return q.to(narrow), k.to(narrow), v.to(narrow)


def _check_places(module: nn.Module, mechanism: Mechanism, reads: Reads) -> None:
    """Refuse a rule by position that is not that of the mechanism."""
    everything = isinstance(reads.rule, Full)
    if not everything and not (isinstance(reads.rule, Causal) and mechanism.causal):
        wanted = "is causal and mixes all tokens before" if mechanism.causal else "mixes all tokens"
        raise UnsupportedOption(
            f"{mechanism} cannot honour the mask {reads.rule}: it {wanted}; use a pattern for this "
            "layer."
        )
    reads_all = everything and reads.dense is None
    if mechanism.causal and (not reads.aligned or crosses(module, reads_all=reads_all)):
        raise UnsupportedOption(
            f"{mechanism} needs the last query at the last key, which cross-attention and caches "
            "that are not filled do not say: leave it out with ac.hf.swap(model, mechanism, "
            "layers=...)."
        )


def _wishes(reads: Reads, asked: Arguments, head_dim: int) -> list[str]:
    found = {
        "packed documents": reads.segments is not None,
        "a complete mask": reads.dense is not None,
        "softcap": asked.softcap is not None,
        "position_bias": asked.position_bias is not None,
        "sinks": asked.sink is not None,
        "dropout": asked.dropout != 0,
        "output_attentions": asked.weights,
        f"scaling {asked.scaling}": asked.scaling not in (None, head_dim**-0.5),
    }
    return [wish for wish, there in found.items() if there]
