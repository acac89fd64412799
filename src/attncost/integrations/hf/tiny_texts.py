"""Tiny texts that a model is tried on, to learn of it what no configuration says."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from itertools import cycle, islice
from typing import Any, Final, TypeGuard, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attncost.core.errors import AttnCostError, UnsupportedOption
from attncost.integrations.hf.trial import Batch, Model, undisturbed

# Tokens of the two texts: unequal, and more than what looks at neighbours alone.
_SIZES: Final = (7, 5)
_CACHES: Final = ("cache", "past_key_values")
_SAYS: Final = ("last_hidden_state", "logits")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """A model, and texts for it.

    Attributes:
        model: A model of transformers that reads one sequence.
        texts: Two texts.
        others: The same lengths, and another token in each place.
        always: What every call is given: no cache, if the model would make one. With a cache,
            transformers does not look for documents in `position_ids`.
    """

    model: Model
    texts: tuple[Int[Tensor, "n"], Int[Tensor, "m"]]
    others: tuple[Int[Tensor, "n"], Int[Tensor, "m"]]
    always: Mapping[str, bool]

    @classmethod
    def of(cls, model: Model) -> "Probe":
        """Choose texts, and look whether the model makes a cache."""
        tokens, count = _plain_tokens(model), sum(_SIZES)
        ids = torch.tensor([*islice(cycle(tokens), count + 1)], device=model.device)
        first, second = ids[:-1].split(_SIZES)
        other, another = ids[1:].split(_SIZES)  # so that few tokens will do
        output = _called(model, {"input_ids": first[None]})
        caches = not output.keys().isdisjoint(_CACHES)  # `in` warns that one is deprecated
        always = {"use_cache": False} if caches else {}
        return cls(model, (first, second), (other, another), always)

    def says(self, ids: Int[Tensor, "n"], **given: Any) -> Float[Tensor, "n d"]:  # noqa: ANN401
        """Return what the model says of each token of one row."""
        return states(self.model, {"input_ids": ids[None], **self.always, **given})[0]

    def mixes_rows(self) -> bool:
        """Say whether even the rows of a batch round each other, as in a mixture of experts."""
        kept = self.texts[1]

        def beside(other: Tensor) -> Tensor:
            rows = torch.stack([other[: len(kept)], kept])
            return states(self.model, {"input_ids": rows, **self.always})[1]

        first, *more = (beside(text) for text in (*self.texts, *self.others))
        return not all(torch.equal(one, first) for one in more)


@contextmanager
def probing(model: Model) -> Iterator[Probe]:
    """Try a model in evaluation and without gradients, and leave no trace of it.

    Raises:
        AttnCostError: If it is no model of transformers, or has no values.
        UnsupportedOption: If it reads two sequences.
    """
    _check_readable(model)
    with undisturbed(model):
        yield Probe.of(model)


def states(model: Model, batch: Batch) -> Float[Tensor, "b n d"]:
    """Return the last hidden states of a model, or its logits if it returns none.

    Raises:
        UnsupportedOption: If neither has a row for each token.
    """
    output = _called(model, batch)
    for name in _SAYS:
        found = output.get(name)
        if isinstance(found, Tensor) and found.shape[:-1] == batch["input_ids"].shape:
            return found
    raise UnsupportedOption(
        f"{type(model).__name__} returns neither {' nor '.join(_SAYS)} with a row for each token: "
        "take the model below its head, such as model.base_model."
    )


def padding_of(model: Model) -> int:
    """Return the token that fills rows up; where a model has none, any does."""
    pad: object = getattr(model.config, "pad_token_id", None)
    return pad if in_vocabulary(pad, model) else 0


def in_vocabulary(token: object, model: Model) -> TypeGuard[int]:
    """Say whether a model can read a token; some configurations name others."""
    return isinstance(token, int) and 0 <= token < vocabulary_of(model)


def vocabulary_of(model: Model) -> int:
    """Return how many tokens a model can read."""
    return int(model.get_input_embeddings().weight.shape[0])


def _check_readable(model: Model) -> None:
    """Refuse what cannot be called with the tokens of one sequence."""
    if not hasattr(model, "get_input_embeddings"):
        raise AttnCostError(
            f"this needs a model of transformers, got {type(model).__name__}: for other models "
            "there are the collators of attncost.batches."
        )
    name = type(model).__name__
    if any(parameter.is_meta for parameter in model.parameters()):
        raise AttnCostError(
            f"{name} must have values to be tried, got parameters on the meta device: load its "
            "weights first."
        )
    # The encoder alone has the configuration of the whole.
    if (
        model.config.is_encoder_decoder
        and "decoder_input_ids" in signature(model.forward).parameters
    ):
        raise UnsupportedOption(
            f"{name} reads two sequences, and its outputs belong to the second: take its encoder "
            "alone, model.get_encoder()."
        )


def _called(model: Model, batch: Batch) -> Mapping[str, Any]:
    output: Mapping[str, Any] = model(**batch, return_dict=True)
    return output


def _plain_tokens(model: Model) -> list[int]:
    """Return tokens without a meaning of their own, from all over the vocabulary."""
    special = set(_special(model.config.to_dict()))
    every = range(vocabulary_of(model))
    plain = [token for token in every if token not in special] or [*every]
    return plain[:: max(1, len(plain) // (sum(_SIZES) + 1))]


def _special(config: Mapping[object, object]) -> Iterator[object]:
    for name, value in config.items():
        if isinstance(value, dict):
            yield from _special(value)
        elif str(name).endswith(("token_id", "token_index")):
            yield from value if isinstance(value, list) else [value]
