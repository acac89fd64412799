"""Where to measure: lengths at even ratios, up to four times the one at which attention takes over.

    …, 64, 96, 128, 192, 256, …    powers of two and three halves of them, a ratio of about √2

A law of n and n² needs lengths on both sides of the crossover: where one term is small against the
other it is lost in the noise. Six octaves below the longest are enough for both.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from attncost.core.errors import ShapeError
from attncost.measure.laws.predicted import Predicted

_BEYOND: Final = 4
_RUNGS: Final = 13
# Below some hundreds of tokens what a call costs at any length hides the rest.
_SHORTEST_END: Final = 512
_USUAL_END: Final = 4096
_FIRST: Final = 64
_LAST: Final = 1 << 17


@final
@dataclass(frozen=True, slots=True)
class Lengths:
    """Where to measure.

    Attributes:
        tokens: The lengths, increasing.
        crossover: Where attention takes over, by FLOPs that are executed; None if it does nowhere
            up to 131,072 tokens.
    """

    tokens: tuple[int, ...]
    crossover: float | None

    @property
    def note(self) -> str | None:
        """What these lengths cannot show, in a sentence; None if they show all."""
        if self.crossover is None or _BEYOND * self.crossover <= self.tokens[-1] * (1 + 1e-9):
            return None
        return (
            f"Lengths end at {self.tokens[-1]:,} tokens and by FLOPs attention takes over at "
            f"{self.crossover:,.0f}, so the crossover must be extrapolated: a law wants lengths up "
            f"to {_BEYOND * self.crossover:,.0f}."
        )


def usual_lengths(predicted: Callable[[int], Predicted], *, longest: int | None = None) -> Lengths:
    """Return about 13 lengths, the longest at least four times the crossover by formula.

    Args:
        predicted: Returns the FLOPs of a length; where it raises `ShapeError` the model ends.
        longest: Tokens that the model has positions for; None for any number.

    >>> layer = lambda n: Predicted(linear=8 * n * 512**2, core=4 * n**2 * 512)
    >>> usual_lengths(layer).tokens
    (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
    """
    crossover = _crossover(predicted, longest)
    wanted = _USUAL_END if crossover is None else _BEYOND * crossover * (1 - 1e-9)
    last = next(n for n in _rungs() if n >= max(wanted, _SHORTEST_END))
    inside = [n for n in _until(last) if longest is None or n <= longest]
    while len(inside) > 1 and _share(predicted, inside[-1]) is None:
        inside.pop()
    return Lengths(tuple(inside[-_RUNGS:]), crossover)


def octaves(tokens: Sequence[int]) -> tuple[int, ...]:
    """Return every other length from the last one down, for what shall take half as long.

    >>> octaves((64, 96, 128, 192, 256))
    (64, 128, 256)
    """
    return tuple(tokens[::-2][::-1])


def _crossover(predicted: Callable[[int], Predicted], longest: int | None) -> float | None:
    """Return where attention takes over, also beyond the last position."""
    before, n = None, _FIRST if longest is None else min(_FIRST, longest)
    while n <= _LAST:
        share = _share(predicted, n)
        if not share:
            return None
        if share >= 1:
            return float(n) if before is None else _between(n // 2, before, n, share)
        if longest is not None and 2 * n > longest:
            # The rest is arithmetic: what attention takes grows by the length more than the rest.
            return n / share
        before, n = share, 2 * n
    return None


def _share(predicted: Callable[[int], Predicted], n: int) -> float | None:
    """Return what attention takes as a multiple of the rest; None where there is no such length."""
    try:
        flops = predicted(n)
    except ShapeError:
        return None
    return flops.core / flops.linear if flops.linear else math.inf


def _between(low: int, below: float, high: int, above: float) -> float:
    """Return where a power law through two shares is 1."""
    power = math.log(above / below) / math.log(high / low)
    return float(low * (1 / below) ** (1 / power))


def _until(last: int) -> Iterator[int]:
    for n in _rungs():
        if n > last:
            return
        yield n


def _rungs() -> Iterator[int]:
    """Give 1, 2, 3, 4, 6, 8, 12 and so on."""
    yield 1
    n = 2
    while True:
        yield n
        yield 3 * n // 2
        n *= 2
