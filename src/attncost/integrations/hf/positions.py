"""Where the positions of a model begin, and where they end.

RoBERTa and its kin count from `padding_idx + 1`, most others from 0, and some have no positions to
be given. No list of names says which: the model is run without positions and with some, and what it
does by itself is what equals. Where it counts from the padding token, a text that has that token in
its middle is counted in another way, since the model leaves it out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import torch
from torch import nn

from attncost.core.errors import UnsupportedOption
from attncost.integrations.hf.tiny_texts import Probe, in_vocabulary, padding_of
from attncost.integrations.hf.trial import Model


@final
@dataclass(frozen=True, slots=True)
class Positions:
    """The positions of a model.

    Attributes:
        first: That of the first token; None if the model takes no `position_ids`.
        longest: Tokens of the longest text that has a position for each; None without a limit.
        skipped: Tokens that the model leaves out when it counts.
    """

    first: int | None
    longest: int | None
    skipped: tuple[int, ...] = ()

    @classmethod
    def of(cls, probe: Probe) -> "Positions":
        """Try a model.

        Raises:
            UnsupportedOption: If it counts in another way than one by one.
        """
        first, most = _first(probe), getattr(probe.model.config, "max_position_embeddings", None)
        skipped = () if first is None else tuple(_skipped(probe, first))
        if not isinstance(most, int) or most <= 0:  # some say 0 or -1 where there is no limit
            return cls(first, None, skipped)
        return cls(first, most - (first or 0), skipped)


def _first(probe: Probe) -> int | None:
    text = probe.texts[0]
    count = torch.arange(len(text), device=text.device)
    own = probe.says(text)
    try:
        unread = torch.equal(probe.says(text, position_ids=2 * count[None]), own)
    except TypeError:  # forward() has no such argument
        return None
    if unread:
        return None
    tried = [*dict.fromkeys(_candidates(probe.model))]
    for first in tried:
        if torch.equal(probe.says(text, position_ids=first + count[None]), own):
            return first
    raise UnsupportedOption(
        f"{type(probe.model).__name__} does not count its positions one by one from any of "
        f"{', '.join(map(str, tried))}, so texts cannot be packed: use padded batches."
    )


def _skipped(probe: Probe, first: int) -> Iterator[int]:
    """Find what moves the positions of a text that has it in its middle."""
    text = probe.texts[0]
    count = torch.arange(len(text), device=text.device)
    for token in dict.fromkeys((padding_of(probe.model), *_paddings(probe.model))):
        if in_vocabulary(token, probe.model):
            marked = text.index_fill(0, text.new_tensor([2]), token)
            given = probe.says(marked, position_ids=first + count[None])
            if not torch.equal(given, probe.says(marked)):
                yield token


def _candidates(model: Model) -> Iterator[int]:
    yield 0
    yield from (padding + 1 for padding in _paddings(model))
    pad = getattr(model.config, "pad_token_id", None)
    if isinstance(pad, int):
        yield pad + 1
    yield from (1, 2)


def _paddings(model: Model) -> Iterator[int]:
    for part in model.modules():
        if isinstance(part, nn.Embedding) and part.padding_idx is not None:
            yield part.padding_idx
