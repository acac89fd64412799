"""A Transformer block that normalises before each sub-layer, not after.

    x + attention(norm(x)),  then  x + down(gelu(up(norm(x))))    time  that of attention + O(n d f)

Norms inside the residual branches keep gradients even at the start, so that training needs no
warm-up. Its output is not normalised: put one more norm after the last block.
"""

from typing import final

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attncost.core.errors import ShapeError
from attncost.nn.attention import Attention
from attncost.nn.cache import Cache
from attncost.nn.state_cache import StateCache


@final
class TransformerBlock(nn.Module):
    """Attention and a feed-forward, with a norm before each: Xiong et al. 2020, arXiv:2002.04745.

    Args:
        attention: The first sub-layer; it decides what a token is.
        hidden: Features inside the feed-forward; `4 * d_model` if left out.
        dropout: Probability in training to drop an element of what a sub-layer adds.

    Raises:
        ShapeError: If a size is impossible.

    >>> import attncost as ac
    >>> TransformerBlock(Attention(64, 4, ac.Window(16))).up.out_features
    256
    """

    def __init__(
        self, attention: Attention, *, hidden: int | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if hidden is not None and hidden < 1:
            raise ShapeError(f"hidden must be at least 1, got {hidden}.")
        if not 0 <= dropout <= 1:
            raise ShapeError(f"dropout must lie in [0, 1], got {dropout}.")
        d_model = attention.d_model
        hidden = 4 * d_model if hidden is None else hidden
        self.attention_norm = nn.LayerNorm(d_model)
        self.attention = attention
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.up = nn.Linear(d_model, hidden)
        self.gelu = nn.GELU()
        self.down = nn.Linear(hidden, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "b n d"],
        *,
        key_mask: Bool[Tensor, "b _"] | None = None,
        segments: Int[Tensor, "b _"] | None = None,
        cache: Cache | StateCache | None = None,
    ) -> Float[Tensor, "b n d"]:
        """Add to every token what others and itself say.

        Args:
            x: Tokens.
            key_mask: See `Attention`, as all others.
            segments: A number for each token; tokens with different numbers never meet.
            cache: Keys and values of the tokens before `x`, or a mechanism's state.
        """
        read = self.attention(
            self.attention_norm(x), key_mask=key_mask, segments=segments, cache=cache
        )
        x = x + self.dropout(read)
        added: Tensor = self.dropout(self.down(self.gelu(self.up(self.feed_forward_norm(x)))))
        return x + added
