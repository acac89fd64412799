"""The three terms of a law at the measured lengths, and the best sum of them.

    T(n) = c0 + c1 * linear(n) + c2 * core(n),  c0, c1, c2 >= 0

The coefficients come from non-negative least squares on relative errors, so that every length
weighs the same (Lawson and Hanson, 1974). Where the core is a sum of a constant and the linear
term, as in a window, no data can tell the two apart: they are merged into all FLOPs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, inf, log
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from attncost.core.errors import ShapeError
from attncost.measure.laws.predicted import Predicted

Values: TypeAlias = NDArray[np.float64]
Prediction: TypeAlias = Callable[[int], Predicted] | Mapping[int, Predicted]

# Columns nearer than this to a sum of others cannot be told apart by float64 least squares.
_ALIKE: Final = 1e-6
# A term with less of the time than this at every length is a rounding error.
_DUST: Final = 1e-9
# Below this slope, core / linear has levelled off and meets no other value further on.
_LEVEL: Final = 0.1
# Squares of FLOPs over seconds must fit in float64.
_MOST: Final = 1e60
# Halvings that leave no doubt in float64.
_HALVINGS: Final = 60


@final
@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """FLOPs by formula at each length.

    Attributes:
        lengths: Tokens, increasing.
        flops: What the formula says of each, in whole numbers.
        linear: FLOPs that grow with the length alone.
        core: FLOPs between queries and keys.
    """

    lengths: Values
    flops: tuple[Predicted, ...]
    linear: Values
    core: Values

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
        return cls(
            lengths=np.array(lengths, float),
            flops=flops,
            linear=np.array(linear, float),
            core=np.array(core, float),
        )

    @property
    def total(self) -> Values:
        """All FLOPs."""
        return self.linear + self.core

    @property
    def merged(self) -> bool:
        """Whether the core cannot be told from a constant and the linear term."""
        if not self.linear.any() or not self.core.any():
            return True
        others = np.stack([np.ones_like(self.linear), self.linear], axis=1) / self.total[:, None]
        core = self.core / self.total
        nearest = others @ np.linalg.lstsq(others, core, rcond=None)[0]
        return bool(np.linalg.norm(core - nearest) < _ALIKE * np.linalg.norm(core))

    @property
    def columns(self) -> Values:
        """The terms side by side, one row a length."""
        alone = [self.total] if self.merged else [self.linear, self.core]
        return np.stack([np.ones_like(self.linear), *alone], axis=1)

    def columns_within(self, speeds: float) -> Values:
        """The same for laws whose core and linear part are at most a factor `speeds` apart."""
        constant, *alone = self.columns.T
        if len(alone) == 1:
            return self.columns
        linear, core = alone
        # Every law within the factor is a sum of the two at its ends, and no other is.
        return np.stack([constant, linear + speeds * core, speeds * linear + core], axis=1)

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


def solve(columns: Values, seconds: Values) -> Values:
    """Return the coefficients, none negative, with the least relative error."""
    from scipy.optimize import nnls  # noqa: PLC0415 -- half a second, and only a fit needs it

    rows = columns / seconds[:, None]
    sizes = np.linalg.norm(rows, axis=0)
    found = np.asarray(nnls(rows / sizes, np.ones_like(seconds))[0] / sizes)
    return np.where(found * rows.max(axis=0) < _DUST, 0.0, found)


def solve_each(columns: Values, draws: Values) -> Values:
    """Do the same for many rows of times at once, in a quarter of the time.

    The best sum uses some of the columns, and is their least squares without the condition: so
    all choices are tried, of which three columns have seven.
    """
    typical = np.median(draws, axis=0)
    weights = typical / draws
    found, least = np.zeros((len(draws), columns.shape[1])), np.full(len(draws), inf)
    for chosen in _choices(columns.shape[1]):
        # Orthogonal once for all draws: their normal equations are then well conditioned.
        q, r = np.linalg.qr(columns[:, chosen] / typical[:, None])
        rows = weights[:, :, None] * q
        sums = np.linalg.solve(rows.transpose(0, 2, 1) @ rows, rows.sum(axis=1)[:, :, None])
        squares = np.sum(((rows @ sums)[:, :, 0] - 1) ** 2, axis=1)
        coefficients = np.linalg.solve(r, sums[:, :, 0].T).T
        better = np.all(coefficients >= 0, axis=1) & (squares < least)
        least = np.where(better, squares, least)
        found[better] = 0
        found[np.ix_(better, chosen)] = coefficients[better]
    shares = np.stack([found[:, i] * (c / draws).max(axis=1) for i, c in enumerate(columns.T)], 1)
    return np.where(shares < _DUST, 0.0, found)


def _choices(count: int) -> list[list[int]]:
    sizes = range(1, count + 1)
    return [list(chosen) for size in sizes for chosen in combinations(range(count), size)]


def rms_each(columns: Values, draws: Values) -> Values:
    """Return the root mean square of the relative errors of the best sum for each row of times."""
    errors = solve_each(columns, draws) @ columns.T / draws - 1
    return np.asarray(np.sqrt(np.mean(errors**2, axis=1)))


def rms(columns: Values, seconds: Values) -> float:
    """Return the root mean square of the relative errors of the best sum of the columns."""
    errors = columns @ solve(columns, seconds) / seconds - 1
    return float(np.sqrt(np.mean(errors**2)))


def speeds_within(terms: Terms, seconds: Values, *, tolerance: float) -> tuple[float, float] | None:
    """Return the least and the greatest c1 / c2 whose best law has at most this rms error.

    The laws within an rms error form a convex set, so the ratios form an interval; its ends are
    found by halving.
    """
    c = solve(terms.columns, seconds)
    if terms.merged or rms(terms.columns, seconds) > tolerance:
        return None
    constant, linear, core = terms.columns.T
    # Shares of time instead of coefficients: 0 is no core, 1 is nothing but core.
    unit_linear, unit_core = np.mean(linear / seconds), np.mean(core / seconds)

    def fits(share: float) -> bool:
        mix = (1 - share) * linear / unit_linear + share * core / unit_core
        return rms(np.stack([constant, mix], axis=1), seconds) <= tolerance

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
