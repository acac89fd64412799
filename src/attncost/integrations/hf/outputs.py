"""What a model says of each token of many texts, whatever the way they are put into batches.

Only time and memory depend on the way: a text has the outputs that it has alone, but for rounding.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from attncost.batches.examples import IDS, Columns, columns
from attncost.batches.interface import Batching
from attncost.batches.outputs import by_text
from attncost.batches.padding_collator import PaddingCollator
from attncost.batches.pieces import Piece, TooLong, pieces
from attncost.batches.ways.bucketed import Bucketed
from attncost.batches.ways.packed import Packed
from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.integrations.hf.packed_pair import documents_of
from attncost.integrations.hf.packing import PackedTexts, make_collator
from attncost.integrations.hf.positions import Positions
from attncost.integrations.hf.tiny_texts import (
    Probe,
    padding_of,
    probing,
    states,
    vocabulary_of,
)
from attncost.integrations.hf.trial import Model

Progress: TypeAlias = Callable[[int, int], None]

# Texts of a batch where they are sorted and padded.
_SORTED: Final = 32


def outputs(
    model: Model,
    ids: Iterable[object],
    way: Batching | None = None,
    *,
    too_long: TooLong = "refuse",
    progress: Progress = lambda _done, _all: None,
) -> list[Float[Tensor, "_ d"]]:
    """Return the last hidden states of each text in the order given, or logits if there are none.

    The model runs in evaluation and without gradients, and is left as it was.

    >>> vectors = [states.mean(0) for states in outputs(model, ids)]  # doctest: +SKIP

    Args:
        model: A model of transformers.
        ids: The tokens of each text, or a dict of `input_ids` and what else has a number for each
            token, see `attncost.batches.examples`. An empty text has no rows.
        way: How texts share batches. By default they are packed into rows of 2048 tokens if the
            model's attention computes each text by itself, as its name says, and the model reads
            packed texts right, these and those that `packing_collator` tries; in every other case
            all are sorted by length and padded, 32 a batch, and nothing is said of it. Whoever
            wants an error where packing is refused gives `Packed()`.
        too_long: What becomes of texts that are longer than the model, see
            `attncost.batches.pieces`: `refuse`, `cut`, or `split` into pieces that do not see each
            other.
        progress: Is told how many texts are done, and of how many; each piece counts as a text.

    Returns:
        For each text (tokens, features), on the device of the model.

    Raises:
        AttnCostError: If it is no model of transformers, or on the meta device.
        ShapeError: If a text is no tokens of the model, or too long.
        UnknownName: If there is no such rule.
        UnsupportedOption: If the way packs and the model does not keep texts apart.
    """
    given = _columns(ids)
    with probing(model) as probe:
        _check_vocabulary(given, model)
        positions = Positions.of(probe)
        sizes = [len(text) for text in given[IDS]]
        parts = pieces(sizes, longest=positions.longest, too_long=too_long)
        lengths = [part.tokens for part in parts]
        chosen, collate = _way(probe, positions, way, given)
        # An empty text says nothing, in as many features.
        found = [probe.says(probe.texts[0])[:0]] * len(parts)
        done = 0
        for batch in chosen.batches(lengths, range(len(parts))):
            read = [number for number in batch.texts if lengths[number]]
            if read:
                examples = [_example(given, parts[number]) for number in read]
                for number, one in zip(read, _said(model, collate(examples)), strict=True):
                    found[number] = one
            done += len(batch.texts)
            progress(done, len(parts))
    return _joined(parts, found, len(given[IDS]))


def _columns(ids: Iterable[object]) -> Columns:
    if isinstance(ids, Mapping):
        raise ShapeError(
            f"ids must be the tokens of each text, got a mapping of {', '.join(map(str, ids))}: "
            f"pass tokenizer(texts)[{IDS!r}]."
        )
    texts = [*ids]
    return columns(texts) if texts else {IDS: []}


def _check_vocabulary(given: Columns, model: Model) -> None:
    most, tokens = (
        max((int(x.max()) for x in given[IDS] if len(x)), default=0),
        vocabulary_of(model),
    )
    if most >= tokens:
        raise ShapeError(
            f"{IDS} must be below {tokens}, the vocabulary of {type(model).__name__}, got {most}: "
            "use the model's own tokenizer, or model.resize_token_embeddings after adding tokens."
        )


def _way(
    probe: Probe, positions: Positions, way: Batching | None, given: Columns
) -> tuple[Batching, PackedTexts | PaddingCollator]:
    """Return the way and what makes its batches; a default that packs must do so right."""
    if way is not None and way.packs:
        return way, make_collator(probe, positions, way)
    if way is None and documents_of(probe.model) == "apart":
        # What mixes texts outside attention is padded.
        with suppress(UnsupportedOption):
            collate = make_collator(probe, positions, Packed())
            for text in given[IDS]:
                collate.check_tokens(text)
            return Packed(), collate
    chosen = way or Bucketed(_SORTED, pool=max(1, -(-len(given[IDS]) // _SORTED)))
    return chosen, PaddingCollator(pad=padding_of(probe.model), way=chosen)


def _example(given: Columns, part: Piece) -> dict[str, Tensor]:
    return {name: texts[part.text][part.start : part.stop] for name, texts in given.items()}


def _said(model: Model, batch: Mapping[str, Any]) -> list[Tensor]:
    """Run a batch, and take it to pieces: copies, as views would keep its padding."""
    return [one.clone() for one in by_text(states(model, _on(model, batch)), batch)]


def _on(model: Model, batch: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.to(model.device) if isinstance(value, Tensor) else value
        for name, value in batch.items()
    }


def _joined(parts: Sequence[Piece], found: Sequence[Tensor], texts: int) -> list[Tensor]:
    """Put the pieces of each text together."""
    own: list[list[Tensor]] = [[] for _ in range(texts)]
    for part, said in zip(parts, found, strict=True):
        own[part.text].append(said)
    return [said[0] if len(said) == 1 else torch.cat(said) for said in own]
