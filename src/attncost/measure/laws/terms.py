"""The terms of a law at the measured lengths.

    T(n) = c0 + c1 * linear(n) + c2 * core(n) + further terms,  no coefficient negative

Further terms are bytes by formula and page faults. Where the core is a sum of a constant and the
linear term, as in a window, no data can tell the two apart: they are merged into all FLOPs. A
linear part that is the same at every length, as where one token is decoded, is in the constant.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log
from typing import Final, TypeAlias, final

import numpy as np

from attncost.core.errors import ShapeError
from attncost.measure.laws.predicted import Predicted
from attncost.measure.laws.squares import Values, rms, solve

Prediction: TypeAlias = Callable[[int], Predicted] | Mapping[int, Predicted]

# The longest length must be so many times the crossover by formula to place that by time.
PLACES: Final = 4

# Columns nearer than this to a sum of others cannot be told apart by float64 least squares.
_ALIKE: Final = 1e-6
# Below this slope, core / linear has levelled off and meets no other value further on.
_LEVEL: Final = 0.1
# Squares of FLOPs over seconds must fit in float64.
_MOST: Final = 1e60
# Halvings that leave no doubt in nine digits.
_HALVINGS: Final = 30


@final
@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """FLOPs by formula at each length, and what else a law counts.

    Attributes:
        lengths: Tokens, increasing.
        flops: What the formula says of each, in whole numbers.
        linear: FLOPs that grow with the length alone.
        core: FLOPs between queries and keys.
        merged: Whether linear part and core cannot be told apart, or one of them from a constant.
        further: Amounts of further terms, by name.
    """

    lengths: Values
    flops: tuple[Predicted, ...]
    linear: Values
    core: Values
    merged: bool
    further: tuple[tuple[str, Values], ...] = ()

    @classmethod
    def of(cls, lengths: Sequence[int], predicted: Prediction) -> "Terms":
        """Ask the formula at every length.

        Raises:
            ShapeError: If it has no answer, or one without FLOPs.
        """
        if isinstance(predicted, Mapping):
            missing = [n for n in lengths if n not in predicted]
            if missing:
                raise ShapeError(f"predicted must have every length, got none for {missing}.")
            flops = tuple(predicted[n] for n in lengths)
        else:
            flops = tuple(predicted(n) for n in lengths)
        linear, core = [p.linear for p in flops], [p.core for p in flops]
        if max(*lengths, *linear, *core) > _MOST:
            raise ShapeError(f"lengths and their FLOPs must be at most {_MOST:g}, got more.")
        for name, values in (("linear", linear), ("core", core)):
            if min(values) < 0 or (min(values) == 0 < max(values)):
                raise ShapeError(f"{name} FLOPs must be positive, or 0 everywhere, got {values}.")
        if not max(linear) and not max(core):
            raise ShapeError("a law needs FLOPs by formula, got 0 at every length.")
        if len({a + b for a, b in zip(linear, core, strict=True)}) == 1:
            raise ShapeError(
                f"a law needs FLOPs that differ with the length, got {linear[0] + core[0]:,} at "
                "every length."
            )
        columns = np.array(linear, float), np.array(core, float)
        return cls(np.array(lengths, float), flops, *columns, _merged(*columns))

    @property
    def total(self) -> Values:
        """All FLOPs."""
        return self.linear + self.core

    @property
    def level(self) -> bool:
        """Whether the linear part is the same at every length, as where one token is decoded."""
        return bool(np.all(self.linear == self.linear[0])) and bool(self.linear.any())

    @property
    def names(self) -> tuple[str, ...]:
        """What each column is."""
        alone = ("linear", "core")
        one = ("core",) if self.level else ("flops",)
        return (
            "constant",
            *(one if self.merged else alone),
            *(name for name, _ in self.further),
        )

    @property
    def columns(self) -> Values:
        """The terms side by side, one row a length."""
        one = [self.core] if self.level else [self.total]
        alone = one if self.merged else [self.linear, self.core]
        more = [amounts for _, amounts in self.further]
        return np.stack([np.ones_like(self.linear), *alone, *more], axis=1)

    def columns_within(self, speeds: float) -> Values:
        """The same for laws whose core and linear part are at most a factor `speeds` apart."""
        if self.merged:
            return self.columns
        constant, linear, core, *more = self.columns.T
        # Every law within the factor is a sum of the two at its ends, and no other is.
        ends = (linear + speeds * core, speeds * linear + core)
        return np.stack([constant, *ends, *more], axis=1)

    def crossing(self, speed: float) -> float | None:
        """Return the length at which the core takes as long as the linear part.

        Args:
            speed: FLOP/s of the core over FLOP/s of the linear part: c1 / c2.

        Returns:
            The length, on a straight line on doubly logarithmic paper; None if it is never
            reached.
        """
        if self.merged or speed == inf:
            return None
        if speed == 0:
            return 0.0
        x, y = np.log(self.lengths), np.log(self.core / self.linear)
        # The first stretch that reaches so high, else the last.
        i = next((i for i in range(len(x) - 2) if y[i + 1] >= log(speed)), len(x) - 2)
        slope = (y[i + 1] - y[i]) / (x[i + 1] - x[i])
        return exp(x[i] + (log(speed) - y[i]) / slope) if slope > _LEVEL else None


def _merged(linear: Values, core: Values) -> bool:
    if not linear.any() or not core.any() or np.all(linear == linear[0]):
        return True
    others = np.stack([np.ones_like(linear), linear], axis=1)
    return apart(core, others, weights=linear + core) < _ALIKE


def apart(column: Values, others: Values, *, weights: Values) -> float:
    """Return how much of a column is no sum of the others, as a share of all of it.

    Args:
        column: Amounts at each length.
        others: Columns side by side.
        weights: What an error at each length is relative to.
    """
    rows, wanted = others / weights[:, None], column / weights
    rows = rows / np.linalg.norm(rows, axis=0)
    nearest = rows @ np.linalg.lstsq(rows, wanted, rcond=None)[0]
    return float(np.linalg.norm(wanted - nearest) / np.linalg.norm(wanted))


def speeds_within(terms: Terms, seconds: Values, *, tolerance: float) -> tuple[float, float] | None:
    """Return the least and the greatest c1 / c2 whose best law has at most this rms error.

    The laws within an rms error form a convex set, so the ratios form an interval; its ends are
    found by halving.
    """
    c = solve(terms.columns, seconds)
    if terms.merged or rms(terms.columns, seconds) > tolerance:
        return None
    constant, linear, core, *more = terms.columns.T
    # Shares of time instead of coefficients: 0 is no core, 1 is nothing but core.
    unit_linear, unit_core = np.mean(linear / seconds), np.mean(core / seconds)

    def fits(share: float) -> bool:
        mix = (1 - share) * linear / unit_linear + share * core / unit_core
        return rms(np.stack([constant, mix, *more], axis=1), seconds) <= tolerance

    def edge(inside: float, outside: float) -> float:
        if fits(outside):
            return outside
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if fits(middle) else (inside, middle)
        return inside

    def speed(share: float) -> float:
        return float((1 - share) / unit_linear * unit_core / share) if share else inf

    time = np.array([c[1] * unit_linear, c[2] * unit_core])
    best = float(time[1] / time.sum()) if time.any() else 0.5
    return speed(edge(best, 1.0)), speed(edge(best, 0.0))
