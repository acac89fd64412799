"""One run of a model over some texts: states after each block, and logits if it predicts tokens."""

from dataclasses import dataclass
from typing import Any, TypeAlias, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attncost.core.errors import UnsupportedOption
from attncost.integrations.theirs import foreign
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.interface import Pattern
from attncost.train.quality.models.next_tokens import Heard, TokenChange, heard, token_change
from attncost.train.quality.models.reading import Reading
from attncost.train.quality.models.states import Moves
from attncost.train.quality.models.vectors import VectorChange, pooled, vector_change

Attention: TypeAlias = Pattern | Mechanism
Ids: TypeAlias = Int[Tensor, "b n"]


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Output:
    """What a model returns.

    Attributes:
        blocks: States of tokens after each block.
        logits: Of the next token; None of a model that is judged by its vectors.
    """

    blocks: tuple[Float[Tensor, "b n _"], ...]
    logits: Float[Tensor, "b n w"] | None


def run(reading: Reading, ids: Ids) -> Output:
    """Run a model once, as it stands.

    Raises:
        UnsupportedOption: If it returns no states of its blocks, or no logits.
    """
    model: Any = reading.model
    cached = getattr(getattr(model, "config", None), "use_cache", None) is not None
    options = {"use_cache": False} if cached else {}
    torch.manual_seed(0)  # for models that draw numbers in evaluation, too
    with foreign(reading.name):
        output = model(input_ids=ids, output_hidden_states=True, **options)
    states, logits = (getattr(output, name, None) for name in ("hidden_states", "logits"))
    if not states or (reading.pooling is None and logits is None):
        missing = "logits" if states else "states after its blocks (output_hidden_states)"
        raise UnsupportedOption(
            f"{reading.name} returns no {missing}, so that nothing can be compared: take a model "
            "of transformers."
        )
    return Output(blocks=tuple(states[1:]), logits=logits if reading.pooling is None else None)


@final
class Changes:
    """What a change does to the outputs of a model, summed up text by text."""

    def __init__(self, reading: Reading) -> None:
        self._pooling = reading.pooling
        self._moves = Moves()
        self._vectors: dict[int, tuple[Tensor, Tensor]] = {}
        self._heard: dict[int, Heard] = {}

    def add(self, numbers: tuple[int, ...], ids: Ids, was: Output, now: Output) -> None:
        """See some texts, given by their numbers."""
        self._moves.add(was.blocks, now.blocks)
        if self._pooling is not None:
            both = [pooled(one.blocks[-1], self._pooling) for one in (was, now)]
            self._vectors |= dict(zip(numbers, zip(*both, strict=True), strict=True))
            return
        assert was.logits is not None, "run has looked"
        assert now.logits is not None, "run has looked"
        for i, number in enumerate(numbers):
            row = slice(i, i + 1)
            self._heard[number] = heard(was.logits[row], now.logits[row], ids[row])

    @property
    def by_block(self) -> tuple[float, ...]:
        """How far states moved, after each block."""
        return self._moves.by_block

    @property
    def own(self) -> Float[Tensor, "t c"] | None:
        """Vectors of all texts in the model as it is."""
        return self._stacked(0) if self._vectors else None

    @property
    def vectors(self) -> VectorChange | None:
        """How the vectors of all texts changed."""
        return vector_change(self._stacked(0), self._stacked(1)) if self._vectors else None

    @property
    def tokens(self) -> TokenChange | None:
        """How what is said of all next tokens changed."""
        return token_change(self._heard) if self._heard else None

    def _stacked(self, which: int) -> Float[Tensor, "t c"]:
        return torch.stack([self._vectors[number][which] for number in sorted(self._vectors)])
