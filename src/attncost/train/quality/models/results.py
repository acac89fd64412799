"""What was found by swapping attentions into a model, as plain data."""

from dataclasses import dataclass
from typing import final

from attncost.train.quality.models.layer_reads import LayerRead
from attncost.train.quality.models.next_tokens import TokenChange
from attncost.train.quality.models.vectors import VectorChange


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Swapped:
    """A model all of whose layers read something else.

    Attributes:
        attention: How it is spelled.
        kind: The name of its file, such as `window`.
        untrained: Whether it computes something else than softmax attention, so that the model
            would have to be trained with it.
        pairs_share: Pairs of queries and keys that it reads, over those that the model's own
            attention reads; None for a mechanism, which reads no pairs.
        attention_share: FLOPs that its attention executes, over those of the model's own.
        model_share: The same of the whole model.
        blocks: How far states of tokens move, after each block.
        layers: What each layer still reads, on the activations of the model as it is.
        vectors: How the vectors of texts change; None of a model that predicts tokens.
        tokens: How the next tokens change; None of a model that returns vectors.
    """

    attention: str
    kind: str
    untrained: bool
    pairs_share: float | None
    attention_share: float
    model_share: float
    blocks: tuple[float, ...]
    layers: tuple[LayerRead, ...]
    vectors: VectorChange | None
    tokens: TokenChange | None

    @property
    def loss(self) -> float:
        """What it loses: 1 less the cosine, or nats added to a token."""
        return _loss(self.vectors, self.tokens)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Alone:
    """A model one layer of which reads something else.

    Attributes:
        name: Of the layer.
        moved: How far states of tokens move after the last block.
        vectors: How the vectors of texts change, or None.
        tokens: How the next tokens change, or None.
    """

    name: str
    moved: float
    vectors: VectorChange | None
    tokens: TokenChange | None

    @property
    def loss(self) -> float:
        """What it loses: 1 less the cosine, or nats added to a token."""
        return _loss(self.vectors, self.tokens)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """All that was found.

    Attributes:
        model: Its name.
        described: What it read, a sentence each.
        texts: How many texts.
        longest: Tokens of the longest.
        ahead: Whether the model reads ahead.
        apart: Mean cosine of two different texts; None without vectors, or of one text.
        own_share: Attention's part of the FLOPs of the model as it is.
        swapped: What each attention changes.
        alone_of: The attention that was swapped into one layer at a time; empty if none was.
        alone: What that changes, a layer each.
        refused: What could not be tried, and why, a sentence each.
    """

    model: str
    described: tuple[str, ...]
    texts: int
    longest: int
    ahead: bool
    apart: float | None
    own_share: float
    swapped: tuple[Swapped, ...]
    alone_of: str
    alone: tuple[Alone, ...]
    refused: tuple[str, ...]


def _loss(vectors: VectorChange | None, tokens: TokenChange | None) -> float:
    if vectors is not None:
        return 1 - vectors.cosine.value
    assert tokens is not None, "one of both is compared"
    return tokens.added.value
