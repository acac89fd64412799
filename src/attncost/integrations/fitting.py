"""What fits of a module that no formula describes: it is run on tensors without numbers, and asked.

A run says how much is held at its worst moment. A curve goes through the nearest three runs, and
the next one is made where it meets the memory, until the greatest size fits and the next does not;
both were run. Where a module changes its ways with the size, memory may shrink for once, and a
greater size could fit again: none is looked for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, Literal, TypeAlias, final

from attncost.core.errors import AttnCostError
from attncost.cost.memory.footprint import PARTS, Footprint, Part
from attncost.cost.planning.fit import bisected

Limit: TypeAlias = Part | Literal["itself", "nothing", "positions"]

# What holds no more of so many times as much sets no limit.
_MANY: Final = 1 << 10
# Beyond any machine.
_GREATEST: Final = 1 << 40


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Fitting:
    """The greatest size that fits.

    Attributes:
        greatest: Tokens, or sequences; 0 if none fits, None if memory sets no limit.
        held: What is then held; by the smallest that was run, if none fits.
        limit: What stands in the way: a part of the memory, `positions`, or the module `itself`.
        step: By how much sizes differ that the module takes.
        next: What the next size would hold, if there is one.
        refusal: Why the module does not take the next size, if it does not.
    """

    greatest: int | None
    held: Footprint
    limit: Limit
    step: int = 1
    next: Footprint | None = None
    refusal: str = ""


def greatest(
    run: Callable[[int], Footprint], *, memory: int, start: int, most: int | None = None
) -> Fitting:
    """Return the greatest size that fits.

    Args:
        run: Returns what a size holds.
        memory: Bytes that there are.
        start: Where to begin.
        most: The greatest size that there is.

    Raises:
        AttnCostError: If the module takes neither `start` nor a half of it, a quarter, and so on.
    """
    seen = _Runs(run, memory, most or _GREATEST)
    first = seen.first(min(start, seen.most))
    seen = _Runs(run, memory, seen.most, step=seen.step_from(first), found=seen.found)
    low = seen.narrowed(*seen.bracket(first // seen.step))
    if low is None:
        return Fitting(greatest=None, held=seen.held(first), limit="nothing", step=seen.step)
    held = seen.held(low * seen.step) if low else seen.smallest()
    found = Fitting(greatest=low * seen.step, held=held, limit="positions", step=seen.step)
    beyond = (low + 1) * seen.step
    if beyond > seen.most:
        return found
    after = seen.look(beyond)
    if isinstance(after, AttnCostError):
        return replace(found, limit="itself", refusal=str(after))
    return replace(found, limit=_limit(held if low else None, after), next=after)


@final
@dataclass(frozen=True, slots=True)
class _Runs:
    """All sizes that were run, each once; places are counted in steps."""

    run: Callable[[int], Footprint]
    memory: int
    most: int
    step: int = 1
    found: dict[int, Footprint | AttnCostError] = field(default_factory=dict)

    def look(self, size: int) -> Footprint | AttnCostError:
        """Return what a size holds, or why the module does not take it."""
        if size not in self.found:
            try:
                self.found[size] = self.run(size)
            except AttnCostError as error:
                self.found[size] = error
        return self.found[size]

    def held(self, size: int) -> Footprint:
        found = self.look(size)
        if isinstance(found, AttnCostError):
            raise found
        return found

    def taken(self, size: int) -> bool:
        return isinstance(self.look(size), Footprint)

    def fits(self, place: int) -> bool:
        found = self.look(place * self.step)
        return isinstance(found, Footprint) and found.peak <= self.memory

    def first(self, start: int) -> int:
        """Return a size that the module takes: `start`, or a half of it, a quarter, and so on."""
        halves = (start >> step for step in range(start.bit_length()))
        size = next((size for size in halves if self.taken(size)), start)
        self.held(size)
        return size

    def step_from(self, size: int) -> int:
        """Return the least power of two by which the module takes more; 1 if it takes no more."""
        steps = [1 << power for power in range(size.bit_length()) if size % (1 << power) == 0]
        within = (step for step in steps if size + step <= self.most)
        return next((step for step in within if self.taken(size + step)), 1)

    def smallest(self) -> Footprint:
        """Return what the smallest size holds that the module took."""
        return self.held(min(size for size in self.found if self.taken(size)))

    def bracket(self, place: int) -> tuple[int, int | None]:
        """Return a place that fits, 0 if none does, and one that does not; None if all do."""
        if not self.fits(place):
            return self._below(place)
        start, top = place, self.most // self.step
        while place < top:
            after = min(2 * place, top)
            if not self.fits(after):
                return place, after
            place = after
            if place > _MANY * start and self._same(place, start):
                return place, None
        return place, place + 1

    def narrowed(self, low: int, high: int | None) -> int | None:
        """Return the greatest place that fits and is followed by one that does not."""
        if high is None:
            return None
        while high - low > 1:
            for guess in (self._guess, self._guess, _middle):
                place = min(max(guess(low, high), low + 1), high - 1)
                low, high = (place, high) if self.fits(place) else (low, place)
                if high - low <= 1:
                    break
        return low

    def _below(self, place: int) -> tuple[int, int]:
        ones = [1] if self.taken(self.step) else [place >> n for n in range(1, place.bit_length())]
        for low in ones:
            if self.fits(low):
                return low, place
            place = low
        return 0, 1

    def _same(self, place: int, other: int) -> bool:
        return self.held(place * self.step).peak == self.held(other * self.step).peak

    def _guess(self, low: int, high: int) -> int:
        """Return where a curve through the nearest three runs meets the memory."""
        if not self.taken(high * self.step):
            return _middle(low, high)
        peaks = {
            size // self.step: found.peak
            for size, found in self.found.items()
            if isinstance(found, Footprint) and size % self.step == 0
        }
        near = sorted(peaks, key=lambda place: min(abs(place - low), abs(place - high)))[:3]
        points = {place: peaks[place] for place in near}
        return low + bisected(lambda n: _curve(points, low + n) <= self.memory, top=high - low)


def _middle(low: int, high: int) -> int:
    return (low + high) // 2


def _curve(points: Mapping[int, int], at: int) -> Fraction:
    """Return the value of the curve of least degree through some points."""
    value = Fraction(0)
    for place, height in points.items():
        term = Fraction(height)
        for other in points.keys() - {place}:
            term *= Fraction(at - other, place - other)
        value += term
    return value


def _limit(here: Footprint | None, beyond: Footprint) -> Part:
    """Return the part to blame: the greatest; of those that grow, if anything fits at all."""
    before = {part: here.by_part[part] if here else 0 for part in PARTS}
    grown = [part for part in PARTS if beyond.by_part[part] > before[part]]
    return max(grown or PARTS, key=lambda part: beyond.by_part[part])
