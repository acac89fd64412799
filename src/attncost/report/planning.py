"""What a plan is asked, and what comes of each way to run a model."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, final

from attncost.cost.configuration import Configuration
from attncost.cost.planning.fit import Fit, largest_batch, longest
from attncost.cost.planning.needs import Need, needs, total
from attncost.cost.planning.situation import Situation
from attncost.cost.planning.speed import Rates

_USUAL: Final = 8192


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is to be planned.

    Attributes:
        name: The model as it was typed.
        models: Its sizes with each attention, by how that is spelled; its own comes first.
        memory: Bytes of one device.
        device: What the device is called, if it has a name.
        situations: How it is run; of each work the first is the one that is spoken of.
        length: Tokens of each sequence, if the batch is asked for.
        batch: Sequences, if the length is asked for; with both, whether they fit.
        lengths: What else to try.
        rates: What a device does in a second, if it is known.
        price: Of a device and an hour.
        command: What reproduces it.
    """

    name: str
    models: Mapping[str, Configuration]
    memory: int
    device: str = ""
    situations: tuple[Situation, ...]
    length: int | None = None
    batch: int | None = None
    lengths: tuple[int, ...] = ()
    rates: Rates | None = None
    price: float | None = None
    command: str = ""

    @property
    def own(self) -> str:
        """How the model's own attention is spelled."""
        return next(iter(self.models))

    @property
    def main(self) -> tuple["Way", ...]:
        """The first way of each work, with the model's own attention."""
        ways: dict[str, Way] = {}
        for way in self.ways():
            ways.setdefault(way.how.work, way)
        return tuple(ways.values())

    def ways(self, work: str | None = None) -> Iterator["Way"]:
        """Give every way to run it, or those of one work."""
        for how in self.situations:
            if work in (None, how.work):
                for attention, model in self.models.items():
                    yield Way(self, how, attention, model)


@final
@dataclass(frozen=True, slots=True)
class Way:
    """One way to run a model, on devices of one size."""

    request: Request
    how: Situation
    attention: str
    model: Configuration

    @property
    def shown(self) -> str:
        """The attention, so that a narrow table can break it."""
        return self.attention.replace(",", ", ")

    @property
    def batch(self) -> int:
        """The sequences that were asked for; if none, one on each group of devices."""
        return self.request.batch or self.how.sharding.data

    @property
    def length(self) -> int:
        """The tokens that were asked for; if none, some thousands."""
        return self.request.length or min(self.model.longest or _USUAL, _USUAL)

    def longest(self, batch: int | None = None) -> Fit:
        """Return the longest sequences that fit, in the batch that was asked for or another."""
        return _longest(self.model, self.how, self.request.memory, batch or self.batch)

    def largest_batch(self) -> Fit:
        """Return the most sequences that fit."""
        return _largest_batch(self.model, self.how, self.request.memory, self.length)

    def needs(self, length: int, batch: int | None = None) -> tuple[Need, ...]:
        """Return what a device holds, in the batch that was asked for or another."""
        return needs(self.model, self.how, length=length, batch=batch or self.batch)

    def bytes(self, length: int, batch: int | None = None) -> int:
        """Return how much that is."""
        return total(self.needs(length, batch))

    def fits(self, length: int) -> bool:
        """Say whether sequences of a length fit."""
        return self.bytes(length) <= self.request.memory

    def size(self) -> tuple[int, int]:
        """Return the length and batch that were asked for, or the greatest that fit."""
        if self.request.length is None:
            return self.longest().greatest or self.length, self.batch
        if self.request.batch is None:
            return self.length, self.largest_batch().greatest or self.batch
        return self.length, self.batch

    def answer(self) -> bool:
        """Say whether what was asked for fits: the sizes that were given, or anything at all."""
        return self.fits(self.request.length or 1)


# A sentence, a table and a chart speak of the same one.
@lru_cache
def _longest(model: Configuration, how: Situation, memory: int, batch: int) -> Fit:
    return longest(model, how, memory=memory, batch=batch)


@lru_cache
def _largest_batch(model: Configuration, how: Situation, memory: int, length: int) -> Fit:
    return largest_batch(model, how, memory=memory, length=length)
