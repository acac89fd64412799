"""The line that gives one layer of a model another pattern, and what the model says then."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, final

import torch
from jaxtyping import Float
from torch import Tensor

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.integrations.hf.layers import attention_layers
from attncost.integrations.hf.swap import swap
from attncost.integrations.hf.trial import Model
from attncost.patterns.interface import Pattern

Inputs = Mapping[str, Any]

# Outputs of models, and what they are called in a sentence.
_SAYS: Final = {"last_hidden_state": "last hidden states", "logits": "logits"}


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Said:
    """What a model says of its tokens.

    Attributes:
        what: What it is called.
        rows: Of each token that is no padding.
        loss: The mean loss in nats, if the model was given labels.
    """

    what: str
    rows: Float[Tensor, "*r c"]
    loss: float | None


def said(model: Model, inputs: Inputs) -> Said:
    """Run a model once.

    Raises:
        UnsupportedOption: If it returns neither hidden states nor logits.
    """
    torch.manual_seed(0)  # for models that draw numbers in evaluation, too
    output = model(**inputs)
    for name, what in _SAYS.items():
        found = getattr(output, name, None)
        if isinstance(found, Tensor):
            loss = getattr(output, "loss", None)
            return Said(
                what=what,
                rows=_real(model, inputs, found),
                loss=float(loss) if isinstance(loss, Tensor) and loss.numel() == 1 else None,
            )
    raise UnsupportedOption(
        f"{type(model).__name__} returns neither {' nor '.join(_SAYS)}, so that nothing can be "
        "compared: take a model of transformers, such as model.base_model."
    )


def said_with(model: Model, inputs: Inputs, pattern: Pattern, layers: list[int] | str) -> Said:
    """Run a model once, some layers reading something else meanwhile."""
    with swap(model, pattern, layers=layers):
        return said(model, inputs)


def choice_of(model: Model, name: str) -> list[int] | str:
    """Return the shortest `layers=` that chooses one layer of a model and no other.

    Raises:
        UnsupportedOption: If it has no layer that can be swapped.
    """
    every = [*attention_layers(model)]
    if name in every:
        with suppress(ShapeError):  # numbers end earlier where there are several stacks
            number = [every.index(name)]
            if [*attention_layers(model, number)] == [name]:
                return number
    return name


def check_repeatable(inputs: Inputs) -> None:
    """Refuse inputs that a model changes.

    Raises:
        UnsupportedOption: If they hold a cache.
    """
    if inputs.get("past_key_values", inputs.get("cache_params")) is not None:
        raise UnsupportedOption(
            "inputs that continue from a cache cannot be run twice: leave past_key_values out and "
            "give all tokens."
        )


def _real(model: Model, inputs: Inputs, found: Tensor) -> Tensor:
    """Return the rows of tokens that are no padding; all, where no mask has one for each row."""
    config = getattr(model, "config", None)
    prefix = "decoder_" if getattr(config, "is_encoder_decoder", False) else ""
    mask = inputs.get(f"{prefix}attention_mask")
    if not isinstance(mask, Tensor) or mask.ndim != 2 or found.shape[:2] != mask.shape:
        return found
    return found[(mask != 0).to(found.device)]
