"""What a law of time says: its numbers, how sure they are, and the verdict on it.

    T(n) = c0 + c1 * linear(n) + c2 * core(n)

`linear` and `core` are FLOPs by formula, so 1 / c1 and 1 / c2 are speeds in FLOP/s. All of it is
plain data: `dataclasses.asdict` of a `Law` is JSON without NaN or infinity.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import exp, isfinite, log
from typing import Final, Literal, TypeAlias, final

from attncost.core.errors import ShapeError

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
class Interval:
    """A value and its 95 % interval, or the range that a tolerance leaves.

    Attributes:
        value: The value; None if it has no end, as the speed of a term that takes no time.
        low: The lower end; None if no law fits, so that there is no interval.
        high: The upper end; None if there is none.
    """

    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def around(cls, value: float, low: float, high: float) -> "Interval":
        """Make one that holds its value, with None for infinity."""
        low, high = min(low, value), max(high, value)
        return cls(*(float(x) if isfinite(x) else None for x in (value, low, high)))


@final
@dataclass(frozen=True, slots=True)
class FittedLength:
    """One length: its time, its FLOPs and what the law makes of them.

    Attributes:
        length: Tokens.
        seconds: The median, or the printed value, with its interval or band.
        fitted: What the law says, in seconds.
        linear: FLOPs by formula that grow with the length alone.
        core: FLOPs by formula between queries and keys.
        error: The relative error of the law, positive where it says too much.
    """

    length: int
    seconds: Interval
    fitted: float
    linear: int
    core: int
    error: float


@final
@dataclass(frozen=True, slots=True)
class Exponent:
    """The power of the length with which time grows; 2 is quadratic.

    Attributes:
        start: From this length,
        end: to this one.
        measured: The exponent of the measured time.
        theory: The exponent of all FLOPs by formula.
    """

    start: int
    end: int
    measured: Interval
    theory: float


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
        constant: c0 in seconds.
        linear_rate: 1 / c1 in FLOP/s.
        core_rate: 1 / c2 in FLOP/s.
        merged: Whether both terms grow alike at these lengths, as in a window: then both rates
            are one, of all FLOPs, and there is no crossover.
        rms: Root mean square of the relative errors.
        points: Every length, in order.
        exponents: Between neighbouring lengths, in order.
        overall: The slope through all lengths on doubly logarithmic paper.
        crossover: The length from which the core takes longer; None if there is none.
        theory_crossover: The same if both terms ran at one speed.
        repeats: The fewest samples that a length has.
        intervals: Where intervals come from: draws of what the medians may be, or a tolerance.
        margins: What the verdict forgave.
        verdict: Whether the formula agrees.
    """

    formula: str
    constant: Interval
    linear_rate: Interval
    core_rate: Interval
    merged: bool
    rms: float
    points: tuple[FittedLength, ...]
    exponents: tuple[Exponent, ...]
    overall: Exponent
    crossover: Interval | None
    theory_crossover: float | None
    repeats: int
    intervals: Literal["bootstrap", "tolerance"]
    margins: Margins
    verdict: Verdict

    def predict(self, length: float) -> float:
        """Return the seconds that the law says for any length.

        FLOPs between and beyond the measured lengths follow a straight line on doubly logarithmic
        paper, which is exact for terms such as n and n².
        """
        seconds = self.constant.value or 0.0
        terms = (
            (self.linear_rate.value, [p.linear for p in self.points]),
            (self.core_rate.value, [p.core for p in self.points]),
        )
        lengths = [point.length for point in self.points]
        return seconds + sum(_along(lengths, flops, length) / rate for rate, flops in terms if rate)


def _along(lengths: list[int], flops: list[int], length: float) -> float:
    """Follow the FLOPs to a length."""
    if min(flops) <= 0:
        return 0.0
    # The first stretch that reaches so far, else the last.
    stretches = list(pairwise(zip(lengths, flops, strict=True)))
    (n, start), (m, end) = next((s for s in stretches if length <= s[1][0]), stretches[-1])
    return start * exp(log(end / start) * log(length / n) / log(m / n))
