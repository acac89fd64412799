"""What a law is made of: intervals, terms, exponents, its class of growth and where it changes.

All of it is plain data without NaN or infinity: what has no end is None.
"""

from dataclasses import dataclass
from math import isfinite
from typing import final


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
@dataclass(frozen=True, kw_only=True, slots=True)
class Term:
    """One term of a law: a coefficient times what it counts.

    Attributes:
        name: `constant`, `linear`, `core`, or `flops` for both in one; `bytes`, `faults`.
        counts: What it counts, in words.
        amounts: How many of them at each length.
        seconds: Time of one; of the constant, all of it.
        rate: How many a second.
        shares: Its part of the law's time at each length.
    """

    name: str
    counts: str
    amounts: tuple[float, ...]
    seconds: Interval
    rate: Interval
    shares: tuple[float, ...]

    @property
    def takes_time(self) -> bool:
        """Whether all of the interval of its seconds is above 0, so that it surely takes time."""
        return self.seconds.low is not None and self.seconds.low > 0


@final
@dataclass(frozen=True, slots=True)
class Alike:
    """Terms that grow alike at the measured lengths, so that no fit tells their times apart.

    Attributes:
        terms: Their names; all time of the first is among that of the others, or of both in one.
        runs: Which runs would tell them apart.
        varies: What differs between those runs: `heads`, `width`, `lengths` or `batch`.
    """

    terms: tuple[str, ...]
    runs: str
    varies: str


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
@dataclass(frozen=True, kw_only=True, slots=True)
class Growth:
    """The class of growth that explains the times best.

    Attributes:
        name: Such as `n + n²`; a constant may always be added. None if the lengths are too few.
        gap: By how much the AICc of the next class is greater, those in `idle` left out; None if
            there is no next.
        undecided: The classes that the data cannot tell from this one, best first.
        idle: The classes that add to this one only what takes no time that matters, so that it
            does not matter which of them is true either; best first.
        criteria: AICc of each class over that of the chosen one, best first.
    """

    name: str | None
    gap: float | None
    undecided: tuple[str, ...]
    idle: tuple[str, ...]
    criteria: dict[str, float]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """From some length on the time follows another law.

    Attributes:
        start: The first length of the other law.
        before: The last length of the first law.
        term: The term that takes another time for the same amount; `all` if each of them does.
        factor: Time of one unit of it from there on over time before; None if it took none.
        effect: Largest relative change of the whole time that this makes.
        at: The length where it does.
        gap: By how much AICc is less than that of one law for all lengths.
    """

    start: int
    before: int
    term: str
    factor: float | None
    effect: float
    at: int
    gap: float
