"""Swap attentions into a model, one after the other, and compare what it says with what it said.

    time  O((1 + attentions + layers) forward passes),  memory  of one batch, whatever is compared

Each batch of texts is read by the model as it is, then with each attention in all layers, then with
one of them in one layer at a time; nothing of a batch is kept but what is told of each text.
Nothing is trained: a model that learns with the cheaper attention wins some of its loss back.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import torch

from attncost.cost.counting.count import count
from attncost.integrations.hf.layers import attention_layers
from attncost.integrations.hf.trial import undisturbed
from attncost.integrations.theirs import foreign
from attncost.mechanisms.interface import Mechanism
from attncost.mechanisms.spelling import spelling
from attncost.train.quality.models.attempt import Attempt
from attncost.train.quality.models.outputs import Attention
from attncost.train.quality.models.own_answers import Batch, longest, read
from attncost.train.quality.models.reading import Reading
from attncost.train.quality.models.results import Compared
from attncost.train.quality.models.vectors import apart
from attncost.view.prices.pieces import looks_ahead

# Says what is done, how much is done, and of how much.
Tell: TypeAlias = Callable[[str, int, int], None]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Swaps:
    """What is tried.

    Attributes:
        attentions: Gives what is swapped into all layers, by the tokens of the longest text and
            by whether the model reads ahead.
        alone: Whether one of them is swapped into one layer at a time, too.
        alone_of: Which; the one that reads the fewest pairs, if left out.
    """

    attentions: Callable[[int, bool], Sequence[Attention]]
    alone: bool = True
    alone_of: Attention | None = None


def _silent(_doing: str, _done: int, _of: int) -> None:
    """Tell nobody."""


def compare(reading: Reading, swaps: Swaps, tell: Tell = _silent) -> Compared:
    """Compare a model with what it becomes.

    Args:
        reading: The model, and its texts.
        swaps: What is tried.
        tell: Is told of progress.

    Raises:
        ShapeError: If there is no attention in it that can be seen.
        UnsupportedOption: If none of what is tried can be swapped in.
    """
    attention_layers(reading.model)  # What cannot be swapped is refused before anything runs.
    tell(f"{reading.name} reads", 0, len(reading.texts))
    with undisturbed(reading.model):
        first, outside = longest(reading), _outside(reading)
        ahead = any(looks_ahead(seen) for calls in first.calls.values() for seen, _ in calls)
        wanted = (*swaps.attentions(reading.longest, ahead), swaps.alone_of)
        attempts = [Attempt(reading, one) for one in dict.fromkeys(wanted) if one is not None]
        alone = _alone(swaps, attempts, first)
        del first
        _read(reading, attempts, alone, tell)
    return _compared(reading, attempts, alone, ahead=ahead, outside=outside)


def _read(reading: Reading, attempts: list[Attempt], alone: Attempt | None, tell: Tell) -> None:
    """Read all texts in every way."""
    done, steps = 0, len(attempts) + 1
    for numbers, ids in reading.batches():
        batch = read(reading, numbers, ids)
        for i, attempt in enumerate(attempts, 1):
            at = done * steps + len(numbers) * i
            tell(spelling(attempt.attention), at, len(reading.texts) * steps)
            attempt.read(batch, alone=attempt is alone)
        reasons = [attempt.refused for attempt in attempts if attempt.refused]
        if len(reasons) == len(attempts):
            raise reasons[0]
        done += len(numbers)


def _outside(reading: Reading) -> float:
    """Return the FLOPs outside attention of all texts, which grow with their tokens."""
    long, short = reading.longest, reading.shortest
    costs = {n: _counted(reading, n) for n in {long, short}}
    each = (costs[long] - costs[short]) / (long - short) if long > short else costs[long] / long
    fixed = costs[long] - each * long
    return fixed * len(reading.texts) + each * sum(map(len, reading.texts))


def _counted(reading: Reading, length: int) -> int:
    text = next(one for one in reading.texts if len(one) == length)
    with foreign(reading.name):
        found = count(reading.model, input_ids=torch.tensor([text]))
    return found.executed - int(found.core.executed)


def _alone(swaps: Swaps, attempts: list[Attempt], first: Batch) -> Attempt | None:
    """Return what is swapped into one layer at a time, if anything is."""
    if not swaps.alone:
        return None
    if swaps.alone_of is not None:
        return next(one for one in attempts if one.attention == swaps.alone_of)
    ready = [one for one in attempts if not isinstance(one.attention, Mechanism)]
    return min(ready or attempts, key=lambda one: one.foreseen(first))


def _compared(
    reading: Reading,
    attempts: list[Attempt],
    alone: Attempt | None,
    *,
    ahead: bool,
    outside: float,
) -> Compared:
    served = [one for one in attempts if one.refused is None]
    own, vectors = served[0].reads.own, served[0].changes.own
    found = alone.alone if alone is not None else ()
    return Compared(
        model=reading.name,
        described=reading.described,
        texts=len(reading.texts),
        longest=reading.longest,
        ahead=ahead,
        apart=None if vectors is None else apart(vectors),
        own_share=own / (own + outside),
        swapped=tuple(one.swapped(outside) for one in served),
        alone_of=spelling(alone.attention) if alone is not None and found else "",
        alone=found,
        refused=tuple(
            f"{spelling(one.attention)} was not tried: {one.refused}"
            for one in attempts
            if one.refused is not None
        ),
    )
