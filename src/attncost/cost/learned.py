"""What a model learns beside its tables of tokens and the matrices of its blocks.

    biases: h d_h + 2 g d_h, d_model, f + d_model        norms: (2 layers + 1) of 1 or 2 d_model

None of it costs a multiply-add, but a count of parameters that papers multiply by 6 has it.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, final

from attncost.core.counts import Count
from attncost.cost.block import BlockSizes

Biased: TypeAlias = Literal["qkv", "output", "feed-forward"]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Learned:
    """What is learned besides; nothing, if nothing is said.

    Attributes:
        positions: Rows of a table of positions; 0 if they are rotary.
        token_types: Rows of a table of kinds of token, as in BERT.
        norm: Numbers that a norm learns for a feature: 2 scale and shift it, 1 scales it. Each
            block has two norms, and the model one more.
        qk_norm: Whether queries and keys of a head are normalised, with scales of their own.
        biases: The projections with a bias.
        tied: Whether the logits are taken with the embedding.
        others: Numbers of one block that none of these are, such as relative positions.
    """

    positions: int = 0
    token_types: int = 0
    norm: Literal[0, 1, 2] = 0
    qk_norm: bool = False
    biases: frozenset[Biased] = frozenset()
    tied: bool = False
    others: Count = 0

    def in_block(self, block: BlockSizes) -> Count:
        """Return the numbers of one block, its matrices left out."""
        norms = 2 * self.norm * block.d_model + (2 * block.head_dim if self.qk_norm else 0)
        return norms + sum(_bias(block, name) for name in self.biases) + self.others


def _bias(block: BlockSizes, name: Biased) -> Count:
    if name == "qkv":
        return (block.heads + 2 * block.kv_heads) * block.head_dim
    if name == "output":
        return block.d_model
    if block.hidden is None:
        return 0
    return (2 if block.gated else 1) * block.hidden + block.d_model
