"""A Transformer block that normalises after each sub-layer, as the first Transformer did.

    norm(x + attention(x)),  then  norm(x + down(gelu(up(x))))    time  that of `TransformerBlock`

It is here to be compared. Every branch of the gradient passes all norms above it, where in a block
that normalises before its sub-layers one branch passes none: Xiong et al. 2020, arXiv:2002.04745.
"""

from typing import final

from jaxtyping import Float
from torch import Tensor, nn

from attncost.nn.block import TransformerBlock


@final
class PostNormBlock(nn.Module):
    """The sub-layers of a block, with its norms moved: Vaswani et al. 2017, arXiv:1706.03762.

    Args:
        block: Whose sub-layers and norms it takes over.
    """

    def __init__(self, block: TransformerBlock) -> None:
        super().__init__()
        self.attention = block.attention
        self.attention_norm = block.attention_norm
        self.up, self.gelu, self.down = block.up, block.gelu, block.down
        self.feed_forward_norm = block.feed_forward_norm

    def forward(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """Add to every token what others and itself say, and normalise the sums."""
        x = self.attention_norm(x + self.attention(x))
        added: Tensor = self.feed_forward_norm(x + self.down(self.gelu(self.up(x))))
        return added
