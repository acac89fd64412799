"""Ways to put a text into batches, compared: each that there is, with its best settings."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

from attncost.batches.choose import Choice, LeftOut, choose_batching
from attncost.batches.interface import Batching
from attncost.batches.machine import Documents, Machine
from attncost.batches.memory import in_memory, largest, memory_of
from attncost.batches.priced import Priced
from attncost.batches.reasons import told_usual
from attncost.batches.ways.padded import Padded
from attncost.cost.configuration import Configuration
from attncost.cost.planning.needs import needs, total
from attncost.cost.planning.situation import Situation
from attncost.report.lines import Text
from attncost.report.way_names import named

_DOCUMENTS: Final[tuple[Documents, ...]] = ("apart", "masked")
# Which way it is, and whether under a dense mask.
_Kind: TypeAlias = tuple[type[Batching], bool]
# What FLOPs cannot tell apart.
_EQUAL: Final = 1.001


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What is to be compared.

    Attributes:
        text: The lines.
        model: The sizes of the model.
        machine: Says how long a call takes; None if nothing is known of one.
        how: In which work and precisions memory is counted.
        memory: Bytes that there are; None if nobody said.
    """

    text: Text
    model: Configuration
    machine: Machine | None = None
    how: Situation = field(default_factory=Situation)
    memory: int | None = None


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """One way with its settings.

    Attributes:
        priced: What it costs.
        bytes: What its largest batch holds in memory, with the model.
        room: Slots of the largest batch that there is memory for; None if nobody asked.
    """

    priced: Priced
    bytes: int
    room: int | None


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What came of it.

    Attributes:
        asked: What was to be compared.
        base: The usual way, batches of so many lines at random.
        choices: The choice by how attention takes packed texts; by a mask only where every layer
            reads one.
        ways: Every way with its best settings, cheapest first; packing ones once for each of
            these.
        fits: Whether there is memory for the longest line alone; without, no way is left out.
    """

    asked: Asked
    base: Compared
    choices: dict[Documents, Choice]
    ways: tuple[Compared, ...]
    fits: bool

    @property
    def best(self) -> Compared:
        """The cheapest of all."""
        return self.ways[0]

    @property
    def choice(self) -> Choice:
        """The choice of the cheapest: attention that keeps texts apart itself, or by a mask."""
        return min(self.choices.values(), key=lambda choice: choice.best.price)

    @property
    def tried(self) -> tuple[Priced, ...]:
        """All settings of all ways, the cheapest first."""
        return _tried(self.choices)

    @property
    def timed(self) -> dict[str, Priced]:
        """What can be timed, by its name, the usual way first; a dense mask is not."""
        found: dict[Batching, Compared] = {}
        for one in (self.base, *self.ways):
            if not one.priced.masked:
                found.setdefault(one.priced.way, one)
        return {self.name(one): one.priced for one in found.values()}

    @property
    def paid(self) -> str:
        """What decides, in a word."""
        return "FLOPs" if self.asked.machine is None else "time"

    @property
    def equal(self) -> int:
        """How many others cost what the cheapest does, within 0.1 %."""
        most = _EQUAL * self.best.priced.price
        return sum(one.price <= most for one in self.tried) - 1

    @property
    def left_out(self) -> dict[str, str]:
        """Ways of which no settings are among them, and why not even the smallest batches are."""
        kinds = {(type(one.priced.way), one.priced.masked) for one in self.ways}
        found: dict[_Kind, LeftOut] = {}
        for documents, choice in self.choices.items():
            for one in sorted(choice.left_out, key=lambda one: one.slots):
                kind = type(one.way), one.way.packs and documents == "masked"
                if kind not in kinds:
                    found.setdefault(kind, one)
        return {named(one.way, masked=masked): one.why for (_, masked), one in found.items()}

    def name(self, one: Compared) -> str:
        """Return what a table calls a way."""
        if one is self.base:
            return told_usual(one.priced)
        return named(one.priced.way, masked=one.priced.masked)

    def ratio(self, one: Priced) -> float:
        """Return what a way costs over the usual one: seconds, or FLOPs without a machine."""
        return one.price / self.base.priced.price


def compared(asked: Asked) -> Comparison:
    """Compare every way that there is."""
    longest = asked.model.longest
    lengths, order = asked.text.kept(longest), asked.text.order(longest)
    usual = Padded(asked.text.batch_size)
    fits = _alone(asked, max(lengths))
    limit = None
    if asked.memory is not None and fits:
        limit = in_memory(asked.model, asked.how, memory=asked.memory)
    choices = {
        documents: choose_batching(
            lengths,
            asked.model,
            asked.machine,
            documents=documents,
            limit=limit,
            order=order,
            usual=usual,
        )
        for documents in (_DOCUMENTS if _masks(asked.model) else _DOCUMENTS[:1])
    }
    return Comparison(
        asked=asked,
        base=_weighed(asked, choices["apart"].usual),
        choices=choices,
        ways=tuple(_weighed(asked, one) for one in _best(_tried(choices))),
        fits=fits,
    )


def _alone(asked: Asked, longest: int) -> bool:
    """Say whether the longest line fits into memory by itself: in every way some batch holds it."""
    if asked.memory is None:
        return True
    return total(needs(asked.model, asked.how, length=max(longest, 1))) <= asked.memory


def _masks(model: Configuration) -> bool:
    """Say whether every layer reads a mask of documents: states run on over all of a row."""
    return all(mixer.softmax_heads for mixer, _ in model.mixers())


def _tried(choices: dict[Documents, Choice]) -> tuple[Priced, ...]:
    """Return what was tried, cheapest first; what does not pack knows no mask, and counts once."""
    found: dict[tuple[Batching, bool], Priced] = {}
    for choice in choices.values():
        for one in choice.tried:
            found.setdefault((one.way, one.masked), one)
    return tuple(sorted(found.values(), key=lambda one: one.price))


def _best(tried: tuple[Priced, ...]) -> Iterator[Priced]:
    """Give each way with the settings that come first, which are the cheapest."""
    found: dict[_Kind, Priced] = {}
    for one in tried:
        found.setdefault((type(one.way), one.masked), one)
    yield from found.values()


def _weighed(asked: Asked, one: Priced) -> Compared:
    room = None
    if asked.memory is not None:
        widest = max(width for _, width in one.shapes)
        room = largest(
            one.way,
            asked.model,
            asked.how,
            memory=asked.memory,
            longest=widest,
            documents=one.documents,
        )
        room = room if room is None or one.way.packs else room * widest
    return Compared(priced=one, bytes=memory_of(one, asked.model, asked.how), room=room)
