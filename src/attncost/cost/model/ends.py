"""The two ends of a model: what turns its input into features, and its features into an output."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, final

from attncost.core.cost import Cost
from attncost.core.counts import Count

Kind: TypeAlias = Literal["logits", "pooler", "classes"]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Embedding:
    """What becomes the features of a token.

    Attributes:
        vocabulary: Rows of a table of tokens.
        positions: Rows of a table of positions; 0 if they are rotary.
        token_types: Rows of a table of kinds of token, as in BERT.
        patch: Numbers of an image's patch that a matrix turns into features, as in ViT, where one
            token more comes first; 0 for text.
        others: Numbers that it learns besides, such as a norm.
    """

    vocabulary: Count = 0
    positions: Count = 0
    token_types: Count = 0
    patch: Count = 0
    others: Count = 0

    def tables(self, d_model: Count) -> Count:
        """Return the numbers of all tables, which are looked up and cost nothing."""
        return (self.vocabulary + self.positions + self.token_types) * d_model

    def learned(self, d_model: Count) -> Count:
        """Return how many numbers it learns."""
        return self.tables(d_model) + self.patch * d_model + self.others

    def cost(self, n: Count, d_model: Count) -> Cost:
        """Return what it costs."""
        if not self.patch:
            return Cost()
        return Cost.product(n - 1, self.patch, d_model).named("patches")


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """What follows the last layer.

    Attributes:
        kind: `logits` at every token; a `pooler` or `classes` on the first one.
        width: What it returns for a token.
        transform: Whether a matrix of the model's own width comes first, as in BERT.
        tied: Whether its matrix is that of the embedding.
        others: Numbers that it learns beside its matrices.
    """

    kind: Kind
    width: Count
    transform: bool = False
    tied: bool = False
    others: Count = 0

    def learned(self, d_model: Count) -> Count:
        """Return how many numbers it learns; a tied matrix is the embedding's."""
        own = (0 if self.tied else self.width) + (d_model if self.transform else 0)
        return own * d_model + self.others

    def cost(self, n: Count, d_model: Count) -> Cost:
        """Return what it costs."""
        rows = n if self.kind == "logits" else 1
        product = Cost.product(rows, d_model, self.width).named(self.kind)
        if not self.transform:
            return product
        return Cost.product(rows, d_model, d_model).named(f"{self.kind} transform") + product
