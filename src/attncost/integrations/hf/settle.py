"""A pattern and a host's rule as one call of exact attention, or the reason why not."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attncost.core.errors import UnsupportedOption
from attncost.core.options import Wishes
from attncost.integrations.hf.arguments import Arguments
from attncost.integrations.hf.layers import crosses
from attncost.integrations.hf.reads import Reads
from attncost.integrations.hf.together import together
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern


def settled(
    module: nn.Module,
    pattern: Pattern,
    reads: Reads,
    asked: Arguments,
    query: Float[Tensor, "b h n d"],
) -> tuple[Pattern, Wishes]:
    """Return what `attention` is to compute: pairs that the host allows and the pattern reads.

    Raises:
        UnsupportedOption: If the pattern has no meaning in this call.
    """
    batch, _, n, _ = query.shape
    m = reads.sizes[2]
    both = together(reads.rule, pattern, max(n, m))
    _check_places(module, pattern, reads)
    wishes: Wishes = {  # a literal, since dynamo traces no call of a TypedDict
        "softcap": asked.softcap,
        "sink": asked.sink,
        "scale": asked.scaling,
        "dropout_p": asked.dropout,
    }
    bias = None if asked.position_bias is None else asked.position_bias[..., :m]
    if reads.aligned or isinstance(both, Full):
        hidden = reads.dense
        wishes["key_mask"] = for_all(reads.key_mask, batch)
        wishes["segments"] = for_all(reads.segments, batch)
    else:
        at, of = reads.positions(query.device)
        hidden, both = reads.mask() & pattern.allowed(at[:, None], of), Full()
    if hidden is not None:
        bias = _with(hidden, bias, query)
    wishes["bias"] = bias
    return both, wishes


def _check_places(module: nn.Module, pattern: Pattern, reads: Reads) -> None:
    if isinstance(pattern, Full):
        return
    unplaced = not reads.aligned and isinstance(reads.first[0], int)
    reads_all = isinstance(reads.rule, Full) and reads.dense is None
    if (unplaced and reads_all) or crosses(module, reads_all=reads_all):
        raise UnsupportedOption(
            f"{pattern} needs queries and keys with common positions, which cross-attention has "
            "not: leave it out with ac.hf.swap(model, pattern, layers=...)."
        )
    if not pattern.relative and reads.first[1] > 0:
        raise UnsupportedOption(
            f"{pattern} counts from the first token, which this sliding cache has dropped: use "
            "DynamicCache() without a configuration, or a pattern that looks at distances alone."
        )


def for_all(mask: Tensor | None, batch: int) -> Tensor | None:
    """Return a mask with a row for every sequence."""
    return mask if mask is None or mask.shape[0] == batch else mask.expand(batch, -1)


def _with(hidden: Tensor, bias: Tensor | None, query: Tensor) -> Tensor:
    """Return a bias that also hides what a complete mask hides."""
    if hidden.dtype != torch.bool:
        return hidden.to(query.dtype) if bias is None else bias + hidden
    if bias is None:
        bias = query.new_zeros(())
    return torch.where(hidden, bias, -torch.inf)
