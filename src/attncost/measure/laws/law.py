"""What a law of time says: its numbers, how sure they are, and the verdict on it.

    T(n) = c0 + c1 * linear(n) + c2 * core(n) + further terms

`linear` and `core` are FLOPs by formula, so 1 / c1 and 1 / c2 are speeds in FLOP/s. All of it is
plain data: `dataclasses.asdict` of a `Law` is JSON without NaN or infinity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, inf, log, sqrt
from typing import Final, Literal, TypeAlias, final

from attncost.core.errors import ShapeError
from attncost.core.notebook import as_html
from attncost.measure.laws.results import (
    Alike,
    Change,
    Exponent,
    FittedLength,
    Growth,
    Interval,
    Term,
)

# Half the width of a 95 % interval, in standard deviations.
_NORMAL: Final = 1.96
# Pairs grow as n², and nothing that a call maps grows faster, however it began.
_PAIRS: Final = 2.0

Word: TypeAlias = Literal["consistent", "inconsistent", "undecided"]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Margins:
    """How far measurements may be off before it counts against a formula.

    Attributes:
        tolerance: Relative error that is forgiven: of every value of a published table, of the
            root mean square over the medians of samples.
        rounding: Half of the last digit that a table prints, in seconds; 0 for samples.
        speeds: A machine may run projections and attention at speeds this factor apart, and the
            crossover is then off by as much.
    """

    tolerance: float = 0.05
    rounding: float = 0.0
    speeds: float = 10.0

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 1:
            raise ShapeError(
                f"tolerance is a share between 0 and 1, such as 0.05, got {self.tolerance:g}."
            )
        if not self.rounding >= 0 or not self.speeds >= 1:
            raise ShapeError(
                "rounding must be at least 0 and speeds at least 1, got "
                f"{self.rounding:g} and {self.speeds:g}."
            )


USUAL: Final = Margins()


@final
@dataclass(frozen=True, slots=True)
class Reason:
    """Why a verdict is what it is.

    Attributes:
        key: Its name, such as `growth`.
        text: A sentence.
        values: The numbers in it, unrounded.
    """

    key: str
    text: str
    values: dict[str, int | float | list[float] | None]


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to: is this time what the formula says?

    Attributes:
        word: The answer.
        sentence: The answer in one sentence, with its numbers.
        reasons: What it rests on.
    """

    word: Word
    sentence: str
    reasons: tuple[Reason, ...]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Law:
    """The law of one subject and the verdict on it.

    Attributes:
        formula: What the measurements are compared with, in words or symbols.
        terms: The constant first, then FLOPs, then bytes and page faults if they belong to it.
        alike: What cannot be told apart at these lengths, and which runs would do it.
        covariance: Of the terms' seconds, over draws of the medians; None without draws.
        rms: Root mean square of the relative errors.
        points: Every length, in order.
        exponents: Between neighbouring lengths, in order.
        overall: The slope through all lengths on doubly logarithmic paper.
        long_end: The same through the lengths from a quarter of the longest on.
        growth: The class of growth.
        change: From where on another law holds; None if one does for all lengths.
        crossover: The length from which the core takes longer; None if there is none, or if the
            lengths are too short to place it.
        theory_crossover: The same if both terms ran at one speed.
        needed: The length up to which one must measure to place the crossover; None if the lengths
            reach it, or if there is no crossover.
        repeats: The fewest samples that a length has.
        intervals: Where intervals come from: draws of what the medians may be, or a tolerance.
        margins: What the verdict forgave.
        verdict: Whether the formula agrees.
    """

    _repr_html_ = as_html

    formula: str
    terms: tuple[Term, ...]
    alike: tuple[Alike, ...]
    covariance: tuple[tuple[float, ...], ...] | None
    rms: float
    points: tuple[FittedLength, ...]
    exponents: tuple[Exponent, ...]
    overall: Exponent
    long_end: Exponent
    growth: Growth
    change: Change | None
    crossover: Interval | None
    theory_crossover: float | None
    needed: int | None
    repeats: int
    intervals: Literal["bootstrap", "tolerance"]
    margins: Margins
    verdict: Verdict

    def term(self, name: str) -> Term | None:
        """Return the term of a name, if the law has it."""
        return next((term for term in self.terms if term.name == name), None)

    @property
    def merged(self) -> bool:
        """Whether linear part and core are one term, as in a window, or one of them is level."""
        return self.term("linear") is None

    @property
    def constant(self) -> Interval:
        """What a call takes before it computes anything, in seconds."""
        return self.terms[0].seconds

    @property
    def linear_rate(self) -> Interval:
        """Speed of the linear part in FLOP/s, or that of the one term of FLOPs."""
        return self.terms[1].rate

    @property
    def core_rate(self) -> Interval:
        """Speed of the core in FLOP/s, or that of the one term of FLOPs."""
        return self.terms[1 if self.merged else 2].rate

    def predict(self, length: float) -> float:
        """Return the seconds that the law says for any length.

        Amounts between and beyond the measured lengths follow a straight line on doubly
        logarithmic paper, which is exact for terms such as n and n². Page faults beyond them go on
        as they last grew, which holds until an allocator changes its ways.
        """
        found = ((term.seconds.value or 0.0, self.amount(term, length)) for term in self.terms)
        return sum(each * amount for each, amount in found)

    def prediction(self, length: float) -> Interval:
        """Return the same with a 95 % interval, if there are draws.

        The interval is that of what the law says, and of how far it is off at the measured
        lengths; of a kernel that changes its ways further on it knows nothing.
        """
        value = self.predict(length)
        if self.covariance is None:
            return Interval(value, None, None)
        amounts = [self.amount(term, length) for term in self.terms]
        variance = sum(
            a * b * between
            for a, row in zip(amounts, self.covariance, strict=True)
            for b, between in zip(amounts, row, strict=True)
        )
        doubt = _NORMAL * sqrt(max(variance, 0.0) + (self.rms * value) ** 2)
        return Interval.around(value, max(value - doubt, 0.0), value + doubt)

    def amount(self, term: Term, length: float) -> float:
        """Return what a term counts at any length."""
        lengths = [point.length for point in self.points]
        steepest = _PAIRS if term.name == "faults" else inf
        return _along(lengths, term.amounts, length, steepest=steepest)


def _along(
    lengths: Sequence[int], amounts: Sequence[float], length: float, *, steepest: float
) -> float:
    """Follow amounts to a length."""
    # The first stretch that reaches so far, else the last.
    stretches = list(pairwise(zip(lengths, amounts, strict=True)))
    (n, start), (m, end) = next((s for s in stretches if length <= s[1][0]), stretches[-1])
    if start > 0 and end > 0:
        slope = log(end / start) / log(m / n)
        slope = min(slope, steepest) if length > m else slope
        return end * exp(slope * log(length / m))
    if length > m:
        return float(end * (length / m) ** _PAIRS)
    return max(0.0, start + (end - start) * (length - n) / (m - n))
