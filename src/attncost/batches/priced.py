"""What a way to batch costs on given texts: slots and pairs, FLOPs, seconds.

    useful    sum over texts of    rest(tokens) + core(tokens)
    executed  sum over sequences of  rest(tokens with padding) + core(tokens with padding)

A sequence is what attention takes by itself, padding included: a padded row, or a packed text.
Under a dense document mask that is a whole row, all of whose pairs are multiplied, whatever the
pattern. Seconds are in `machine`. Every length is priced once, so a million texts take seconds for
each way, and a choice among all ways about a minute.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import index
from random import Random
from typing import SupportsIndex, final, get_args

from attncost.batches.batch import Batch
from attncost.batches.interface import Batching
from attncost.batches.lengths import check_lengths
from attncost.batches.machine import Documents, Machine
from attncost.batches.per_length import PerLength
from attncost.batches.tally import Tally
from attncost.batches.waste import Waste
from attncost.core.errors import ShapeError, UnknownName
from attncost.core.notebook import as_html
from attncost.cost.interface import SequenceCost


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Priced:
    """What a way costs on given texts.

    Attributes:
        way: The way with its dials.
        documents: How attention takes packed texts.
        lengths: Tokens of each text.
        order: Numbers of the texts, as they come.
        calls: How many batches there are.
        waste: What they hold, and what a model computes on it.
        useful: FLOPs of the texts without padding, forward.
        executed: FLOPs that are multiplied.
        seconds: What the machine takes; None if none was given.
        shapes: Rows and slots of a row of the largest batches: none of them fits into another, and
            each other batch fits into one.
        widest_mask: Slots of the widest row that attention reads under a dense mask, 0 if none is:
            a text that is alone in its row needs no mask.
    """

    _repr_html_ = as_html

    way: Batching
    documents: Documents
    lengths: tuple[int, ...] = field(repr=False)
    order: tuple[int, ...] = field(repr=False)
    calls: int
    waste: Waste
    useful: int
    executed: int
    seconds: float | None
    shapes: tuple[tuple[int, int], ...]
    widest_mask: int = 0

    @property
    def batches(self) -> tuple[Batch, ...]:
        """The batches, made anew each time: of many ways at once they would fill the memory."""
        return self.way.batches(self.lengths, self.order)

    @property
    def price(self) -> float:
        """What decides: seconds, or FLOPs where no machine is known."""
        return self.executed if self.seconds is None else self.seconds

    @property
    def most_slots(self) -> int:
        """Slots of the largest batch."""
        return max(rows * width for rows, width in self.shapes)

    @property
    def masked(self) -> bool:
        """Whether it packs, and attention reads a dense mask of documents."""
        return self.way.packs and self.documents == "masked"


def priced(
    way: Batching,
    lengths: Iterable[SupportsIndex],
    cost: SequenceCost,
    *,
    machine: Machine | None = None,
    documents: Documents = "apart",
    order: Sequence[int] | None = None,
) -> Priced:
    """Return what a way costs on given texts.

    Args:
        way: Puts them into batches.
        lengths: Tokens of each text.
        cost: Of one sequence; `Configuration.reading` gives that with another pattern.
        machine: Says the seconds.
        documents: How attention takes packed texts.
        order: Numbers of the texts as they come; shuffled by a fixed seed if left out. What a way
            that does not sort wastes depends on it.

    Raises:
        ShapeError: If there is no text with tokens, a length lies outside what was counted, or an
            argument is none.
        UnknownName: If attention takes documents in no such way.
    """
    return Pricing(lengths, cost, machine=machine, documents=documents, order=order).of(way)


@final
class Pricing:
    """Prices one way after another on the same texts, each length once."""

    __slots__ = (
        "_cost",
        "_curves",
        "_documents",
        "_lengths",
        "_machine",
        "_order",
        "_prices",
        "_texts",
        "_useful",
    )

    def __init__(
        self,
        lengths: Iterable[SupportsIndex],
        cost: SequenceCost,
        *,
        machine: Machine | None = None,
        documents: Documents = "apart",
        order: Sequence[int] | None = None,
    ) -> None:
        """Take the texts; arguments as of `priced`."""
        _check(cost, machine, documents)
        self._cost = cost
        self._lengths = check_lengths(lengths)
        texts = len(self._lengths)
        self._order = shuffled(texts) if order is None else _checked(order, texts)
        # How many texts there are of each length.
        self._texts = Counter(n for i in self._order if (n := self._lengths[i]))
        if not self._texts:
            got = f"{len(self._order)} empty ones" if self._order else "no texts"
            raise ShapeError(
                f"batches need a text with tokens, got {got}: pass the lengths of texts of which "
                "one or more are above 0."
            )
        self._machine, self._documents = machine, documents
        self._prices = PerLength(cost)
        self._prices.learn(self._texts)
        self._useful = sum(n * self._prices[length].useful for length, n in self._texts.items())
        # Both curves, each asked once for a number.
        self._curves = None if machine is None else (cache(machine.rest), cache(machine.attend))

    @property
    def lengths(self) -> tuple[int, ...]:
        """Tokens of each text."""
        return self._lengths

    @property
    def order(self) -> tuple[int, ...]:
        """Numbers of the texts, as they come."""
        return self._order

    def of_some(self, texts: int) -> "Pricing":
        """Return prices of so many of the texts, the first that have tokens."""
        some = [i for i in self._order if self._lengths[i]][:texts]
        return Pricing(
            self._lengths,
            self._cost,
            machine=self._machine,
            documents=self._documents,
            order=some,
        )

    def of(self, way: Batching) -> Priced:
        """Return what a way costs."""
        batches = way.batches(self._lengths, self._order)
        found = Tally()
        for batch in batches:
            found.add(batch.layout(self._lengths), self._documents)
        self._prices.learn({*found.alone, *found.inside, *found.masked})
        return Priced(
            way=way,
            documents=self._documents,
            lengths=self._lengths,
            order=self._order,
            calls=len(batches),
            waste=Waste.of(found, self._texts),
            useful=self._useful,
            executed=self._executed(found),
            seconds=self._time(found),
            shapes=found.largest,
            widest_mask=max(found.masked, default=0),
        )

    def _executed(self, found: Tally) -> int:
        prices = self._prices
        rest = sum(
            times * prices[n].executed_rest for n, times in (found.alone + found.inside).items()
        )
        core = sum(times * prices[n].executed_core for n, times in found.alone.items())
        # The kernel that reads a dense mask knows of no pattern.
        return rest + core + sum(times * prices[n].dense_core for n, times in found.masked.items())

    def _time(self, found: Tally) -> float | None:
        if self._machine is None or self._curves is None:
            return None
        looping, (rest, attend) = self._machine.packed, self._curves
        return (
            sum(times * rest(slots) for slots, times in found.calls.items())
            + sum(times * attend(n) for n, times in found.alone.items())
            + sum(times * attend(n, dense=True) for n, times in found.masked.items())
            + looping.row * found.looped_calls
            + looping.text * found.looped
        )


def _check(cost: object, machine: object, documents: str) -> None:
    """Refuse what prices nothing."""
    if not isinstance(cost, SequenceCost):
        raise ShapeError(
            f"cost must be what a sequence costs, got {cost!r}: pass a configuration, such as that "
            "of `preset` or `read_config`."
        )
    if machine is not None and not isinstance(machine, Machine):
        raise ShapeError(
            f"machine must be a model on a machine, got {machine!r}: pass that of `machine_of`, or "
            "None to go by FLOPs."
        )
    if documents not in get_args(Documents):
        raise UnknownName("way to take packed texts", documents, get_args(Documents))


def _checked(order: Iterable[SupportsIndex], texts: int) -> tuple[int, ...]:
    """Return an order of texts that names none twice."""
    found = tuple(map(index, order))
    once = set(found)
    wrong = next((i for i in once if not 0 <= i < texts), None)
    if wrong is None and len(once) < len(found):
        wrong = Counter(found).most_common(1)[0][0]
    if wrong is not None:
        raise ShapeError(
            f"order must name texts from 0 to {texts - 1}, each at most once, got {wrong} "
            f"{'twice' if 0 <= wrong < texts else 'among them'}: leave order= out to shuffle them."
        )
    return found


def shuffled(texts: int, *, seed: int = 0) -> tuple[int, ...]:
    """Return the numbers of so many texts in an order that chance draws, the same every time.

    >>> shuffled(5) == shuffled(5), sorted(shuffled(5))
    (True, [0, 1, 2, 3, 4])
    """
    order = list(range(texts))
    Random(seed).shuffle(order)
    return tuple(order)
