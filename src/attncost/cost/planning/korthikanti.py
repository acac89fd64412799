"""What one layer keeps of its activations for the backward pass, by the formulas of Korthikanti.

    s b h (34 + 5 a s / h) bytes: 16-bit numbers, masks of dropouts in one byte each

    tensor parallel       s b h (10 + 24 / t + 5 a s / (h t))
    and in sequence       s b h (34 + 5 a s / h) / t
    selective             the same without 5 a s / h: scores and weights are computed again
    full                  2 s b h: nothing but the input of the layer

Korthikanti et al. 2022, arXiv:2205.05198, Table 2. They hold for their layer alone: a feed-forward
of 4 h without a gate, GELU, three dropouts, as many heads of keys as of queries, and scores of all
pairs in memory. What an implementation really keeps is counted by `ac.memory`.
"""

from typing import Final

from attncost.core.counts import Count
from attncost.core.errors import ShapeError, UnknownName
from attncost.cost.block import BlockSizes
from attncost.cost.planning.sharding import Sharding

RECOMPUTE: Final = ("none", "selective", "full")
_ALONE: Final = Sharding()


def activation_bytes(
    block: BlockSizes,
    *,
    length: Count,
    batch: Count = 1,
    sharding: Sharding = _ALONE,
    recompute: str = "none",
) -> Count:
    """Return the bytes that one device keeps of one layer.

    Args:
        block: The sizes, as integers or symbols.
        length: Tokens of a sequence, `s`.
        batch: Sequences that this device works on, `b`.
        sharding: Of it tensor and sequence parallel matter.
        recompute: What is computed again: `none`, `selective` for scores and weights of attention,
            or `full`.

    Raises:
        ShapeError: If the layer is not of their kind, or cannot be shared evenly.
        UnknownName: If `recompute` is none of the three.

    >>> gpt_3 = BlockSizes(d_model=12288, heads=96)
    >>> activation_bytes(gpt_3, length=2048, sharding=Sharding(tensor=8, sequence=True))
    358612992
    """
    if recompute not in RECOMPUTE:
        raise UnknownName("recomputation", recompute, RECOMPUTE)
    _check(block)
    tokens, h, t = length * batch, block.d_model, sharding.tensor
    if recompute == "full":
        return 2 * tokens * h
    between = batch * (_share(length, t, "length") if sharding.sequence else length)
    features, heads = _share(h, t, "d_model"), _share(block.heads, t, "heads")
    scores = 5 * heads * length * tokens if recompute == "none" else 0
    return 10 * between * h + 24 * tokens * features + scores


def _check(block: BlockSizes) -> None:
    wrong = None
    if block.hidden is not None and block.hidden != 4 * block.d_model:
        wrong = f"a feed-forward of {block.hidden}, not of 4 * {block.d_model}"
    elif block.gated:
        wrong = "a gate in its feed-forward"
    elif block.kv_heads != block.heads:
        wrong = f"{block.kv_heads} heads of keys for {block.heads} of queries"
    elif block.heads * block.head_dim != block.d_model:
        wrong = f"{block.heads} heads of {block.head_dim} features, not {block.d_model} in all"
    if wrong:
        raise ShapeError(
            f"these formulas are for the layer of GPT-2 alone, got one with {wrong}: use ac.memory."
        )


def _share(size: Count, devices: int, name: str) -> Count:
    """Return an even share; symbols are taken to be divisible."""
    if isinstance(size, int) and size % devices:
        raise ShapeError(f"tensor must divide {name}, got tensor={devices} for {size}.")
    return size // devices if isinstance(size, int) else size / devices
