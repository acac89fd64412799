"""A trial of ways to put texts into batches: what they take on a model, in a minute or two."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from attncost.batches.interface import Batching
from attncost.batches.priced import Priced
from attncost.integrations.reader import Reader
from attncost.measure.clocks.interface import Clock
from attncost.measure.speed.sampling import Progress
from attncost.measure.trials.passes import inputs_of, passes
from attncost.measure.trials.texts import some_texts
from attncost.measure.trials.ways import WayTime, time_ways

Readers: TypeAlias = Mapping[bool, Reader]

# FLOPs of one round over all ways, some ten seconds of one core, and seconds of all rounds.
_ROUND: Final = 6e11
_SECONDS: Final = 90.0


def affordable(ways: Sequence[Priced]) -> tuple[int, ...]:
    """Return the numbers of some texts, as they come, that all ways together pass in seconds.

    Args:
        ways: On the same texts.
    """
    first, *_ = ways
    share = _ROUND / sum(one.executed for one in ways)
    taken = set(some_texts(first.lengths, tokens=int(share * sum(first.lengths))))
    return tuple(number for number in first.order if number in taken)


def trial(
    ways: Mapping[str, Batching],
    texts: Sequence[Sequence[int]],
    readers: Readers,
    clock: Clock,
    *,
    progress: Progress = lambda _: None,
) -> tuple[WayTime, ...]:
    """Time ways side by side on one thread; those that no model reads are left out.

    Args:
        ways: By name; others are compared with the first.
        texts: The tokens of each, as they come.
        readers: Models, by whether the ways that they read pack.
        clock: How.
        progress: Is told how far it is, from 0 to 1.

    Raises:
        ShapeError: If there is no way, or no token.
    """
    calls = {}
    for name, way in ways.items():
        if way.packs in readers:
            reader = readers[way.packs]
            inputs = inputs_of(way, texts, collate=reader.collator(way))
            calls[name] = passes(reader.model, inputs)
    lengths = [len(text) for text in texts]
    return time_ways(calls, clock, lengths=lengths, seconds=_SECONDS, progress=progress)
