"""What must not matter to what in a batch: padding, later tokens, other documents."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.integrations.hf.trial import Batch, Model, Question, Stream

# Ways to cut each sequence into past and future, spread over its length by the golden ratio. Every
# other one comes right after the last, as one of two neighbours is no boundary of blocks.
_CUTS: Final = 4
_GOLDEN: Final = 0.618034


@final
@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """A model, a batch and what they are meant to keep apart.

    Attributes:
        model: A model of transformers.
        batch: What it is called with.
        streams: Tokens that go into it, the last ones being those that it has outputs for.
        causal: Whether a token must not depend on later ones.
        numbers: Document of each token, padding being -1; None if each sequence is a single one.
    """

    model: Model
    batch: Batch
    streams: tuple[Stream, ...]
    causal: bool
    numbers: Int[Tensor, "b n"] | None

    @classmethod
    def of(
        cls, model: Model, batch: Batch, causal: bool | None, segments: Int[Tensor, "b n"] | None
    ) -> "Setup":
        """Find out what the caller does not say.

        Raises:
            ShapeError: If something is asked about tokens, and there are none or too few.
            UnsupportedOption: If documents are asked about in an encoder-decoder.
        """
        streams, numbers = _streams(model, batch), None
        if not streams and (causal or segments is not None):
            raise ShapeError("the batch must have input_ids or inputs_embeds to be checked.")
        if segments is not None and model.config.is_encoder_decoder:
            raise UnsupportedOption(
                "documents are told apart in one row of tokens, and an encoder-decoder has two: "
                "leave segments out."
            )
        if streams and not model.config.is_encoder_decoder:
            numbers = _documents(batch, streams[-1], segments)
        causal = _is_causal(model) if causal is None else causal
        return cls(model, batch, streams, causal, numbers)

    def questions(self) -> list[Question]:
        """Return what is to be tried, kind by kind."""
        if not self.streams:
            return []
        last = self.streams[-1]
        asked = [one for stream in self.streams for one in _of_padding(self.batch, stream, last)]
        if self.causal:
            asked += _of_the_future(self.batch, last)
        if self.numbers is not None:
            asked += _of_documents(last, self.numbers)
        return asked


def _streams(model: Model, batch: Batch) -> tuple[Stream, ...]:
    """Return the tokens that go into a model, the last ones being those that it has outputs for."""
    if not model.config.is_encoder_decoder:
        shape = _shape(batch, "input_ids", "inputs_embeds")
        return () if shape is None else (Stream("", shape, model.get_input_embeddings()),)
    encoder, decoder = (
        half().get_input_embeddings() for half in (model.get_encoder, model.get_decoder)
    )
    found = []
    shape = _shape(batch, "input_ids", "inputs_embeds")
    if shape is not None and batch.get("encoder_outputs") is None:
        found.append(Stream("", shape, encoder))
    shape = _shape(batch, "decoder_input_ids", "decoder_inputs_embeds", "labels")
    if shape is not None:
        call = int(encoder is decoder and bool(found) and batch.get("inputs_embeds") is None)
        found.append(Stream("decoder_", shape, decoder, call))
    return tuple(found)


def _is_causal(model: Model) -> bool:
    """Say whether a model is meant to read nothing ahead, by its own word."""
    config = model.config
    if config.is_encoder_decoder:
        return True
    if not getattr(config, "is_causal", True):
        return False
    said = {part.is_causal for part in model.modules() if hasattr(part, "is_causal")}
    return True in said if said else bool(model.can_generate())


def counting(batch: Batch, stream: Stream) -> Bool[Tensor, "b n"]:
    """Return which tokens are no padding; all of them where no mask of tokens says otherwise."""
    mask = batch.get(stream.prefix + "attention_mask")
    if isinstance(mask, Tensor) and mask.shape == stream.shape:
        return mask.cpu() != 0
    return torch.ones(stream.shape, dtype=torch.bool)


def _of_padding(batch: Batch, stream: Stream, last: Stream) -> Iterator[Question]:
    """Ask whether padding matters to the tokens that count."""
    counts, fixed = counting(batch, stream), counting(batch, last)
    if not counts.all():
        read = counts if stream is last else counts.any(1, keepdim=True)
        yield Question("padding", stream, ~counts, fixed & read)


def _of_the_future(batch: Batch, stream: Stream) -> Iterator[Question]:
    """Ask whether later tokens matter to earlier ones, with other cuts in each sequence."""
    counts = counting(batch, stream)
    for turn in range(_CUTS):
        past, future = torch.zeros_like(counts), torch.zeros_like(counts)
        for row, places in enumerate(counts):
            tokens = places.nonzero().flatten()
            share = (turn // 2 * len(counts) + row + 0.5) * _GOLDEN % 1
            cut = 1 + int(share * (len(tokens) - 2)) + turn % 2
            past[row, tokens[:cut]] = True
            future[row, tokens[cut:]] = True
        if future.any():
            yield Question("future", stream, future, past)


def _of_documents(stream: Stream, numbers: Int[Tensor, "b n"]) -> Iterator[Question]:
    """Ask whether documents matter to each other: any two differ in a digit of their numbers."""
    counts = numbers >= 0
    for digit in range(int(numbers.max()).bit_length()):
        odd = (numbers >> digit) % 2 == 1
        for changed in (counts & odd, counts & ~odd):
            yield Question("document", stream, changed, counts & ~changed)


def _documents(
    batch: Batch, stream: Stream, segments: Int[Tensor, "b n"] | None
) -> Int[Tensor, "b n"] | None:
    """Number the documents of each sequence from 0, padding being -1; None if each has only one.

    Raises:
        ShapeError: If they are not given for each token.
    """
    counts = counting(batch, stream)
    told = _told(batch, stream, counts) if segments is None else segments
    if told is None:
        return None
    if told.shape != stream.shape:
        raise ShapeError(
            f"segments must number each of {stream.shape} tokens, got shape {tuple(told.shape)}."
        )
    numbers = torch.full(stream.shape, -1)
    for row, count in enumerate(counts):
        numbers[row, count] = told[row].cpu()[count].unique(return_inverse=True)[1]
    return numbers if numbers.numel() and int(numbers.max()) > 0 else None


def _told(batch: Batch, stream: Stream, counts: Bool[Tensor, "b n"]) -> Tensor | None:
    """Return what a batch itself says of documents."""
    if batch.get("seq_idx") is not None:
        numbers: Tensor = batch["seq_idx"]
        return numbers
    if batch.get("cu_seq_lens_q") is not None:
        ends = batch["cu_seq_lens_q"].cpu()[1:].contiguous()
        tokens = torch.arange(stream.shape[0] * stream.shape[1])
        return torch.bucketize(tokens, ends, right=True).view(stream.shape)
    mask, positions = batch.get("attention_mask"), batch.get("position_ids")
    if isinstance(mask, Tensor) and mask.shape == stream.shape and mask.max() > 1:
        return mask
    if isinstance(positions, Tensor) and positions.ndim == 2:
        return _restarts(positions.cpu().expand(stream.shape), counts)
    return None


def _restarts(positions: Int[Tensor, "b n"], counts: Bool[Tensor, "b n"]) -> Int[Tensor, "b n"]:
    """Number runs of positions that rise; those of padding say nothing."""
    numbers = torch.zeros_like(positions)
    for row, count in enumerate(counts):
        own = positions[row, count]
        numbers[row, count] = (own.diff(prepend=own[:1] - 1) <= 0).cumsum(0)
    return numbers


def _shape(batch: Batch, *names: str) -> tuple[int, int] | None:
    """Return sequences and tokens of the first argument that is there."""
    given = [batch[name] for name in names if isinstance(batch.get(name), Tensor)]
    return (given[0].shape[0], given[0].shape[1]) if given else None
