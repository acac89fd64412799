"""A mechanism in a layer of a model: it mixes all tokens freely, so any mask refuses it."""

from jaxtyping import Float
from torch import Tensor

from attncost.core.dims import Dims
from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.integrations.hf.arguments import Arguments
from attncost.integrations.hf.reads import Reads
from attncost.mechanisms.interface import Learned, Mechanism
from attncost.patterns.full import Full


def approximated(
    mechanism: Mechanism,
    learned: Learned,
    qkv: tuple[Tensor, Tensor, Tensor],
    reads: Reads,
    asked: Arguments,
) -> Float[Tensor, "b h n e"]:
    """Return what a mechanism makes of queries, keys and values.

    Raises:
        ShapeError: If its learned tensors are missing or belong to another length.
        UnsupportedOption: If the call has a mask or option that it cannot honour.
    """
    q, k, v = qkv
    for wish in _wishes(reads, asked, q.shape[-1]):
        raise UnsupportedOption(
            f"{mechanism} cannot honour {wish}: it mixes all tokens of a whole sequence; use a "
            "pattern for this layer."
        )
    expected = mechanism.parameters(Dims.of(q.shape, k.shape, v.shape))
    found = {name: tuple(tensor.shape) for name, tensor in learned.items()}
    if not found and expected:
        raise ShapeError(
            f"{mechanism} learns {', '.join(expected)}, which this model does not hold: add them "
            "with ac.hf.swap(model, mechanism, length=...)."
        )
    if found != expected:
        raise ShapeError(
            f"{mechanism} was given tensors of shapes {found}, but {q.shape[2]} queries and "
            f"{k.shape[2]} keys need {expected}: pad or cut every sequence to the one length."
        )
    return mechanism.attend(q, k, v, learned)


def _wishes(reads: Reads, asked: Arguments, head_dim: int) -> list[str]:
    found = {
        f"the mask {reads.rule}": not isinstance(reads.rule, Full),
        "padding": reads.key_mask is not None,
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
