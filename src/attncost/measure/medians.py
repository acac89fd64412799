"""From samples to medians: what each length takes, and how sure that is.

Samples of a length are resampled with replacement (Efron, 1979), so that a law can be fitted to
medians that another run might have given. One honest limitation: lengths are resampled apart, so
a machine that was slow during a whole round makes intervals a little too narrow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final, final

import numpy as np

from attncost.core.errors import ShapeError
from attncost.measure.law import Interval, Margins
from attncost.measure.terms import Values

_DRAWS: Final = 1000
# The true median lies outside of all five samples in 2 * 2**-5 = 6 % of cases: with fewer, no
# resampling gives a 95 % interval.
FEWEST: Final = 5


@final
@dataclass(frozen=True, slots=True, eq=False)
class Medians:
    """The time of each length.

    Attributes:
        lengths: Tokens, increasing.
        seconds: The median of each.
        low: Lower end of its 95 % interval, or of its band.
        high: Upper end.
        draws: Medians of resampled samples, one row a draw; None if there are too few samples.
        repeats: The fewest samples that a length has.
    """

    lengths: tuple[int, ...]
    seconds: Values
    low: Values
    high: Values
    draws: Values | None
    repeats: int

    @property
    def noise(self) -> float:
        """The relative standard error of the medians, as root mean square over the lengths."""
        if self.draws is None:
            return 0.0
        # By the intervals, which a few wild samples do not move as they move a variance.
        errors = (self.high - self.low) / (2 * 1.96) / self.seconds
        return float(np.sqrt(np.mean(errors**2)))


def summarise(
    seconds: Mapping[int, Sequence[float]], *, margins: Margins, seed: int = 0
) -> Medians:
    """Take the median of every length, and resample where there are samples enough.

    Raises:
        ShapeError: If there are fewer than two lengths, or anything is not positive and finite.
    """
    lengths = tuple(sorted(seconds))
    if len(lengths) < 2 or lengths[0] < 1:
        raise ShapeError(f"a law needs 2 lengths or more, all positive, got {list(lengths)}.")
    samples = [np.array(seconds[n], float) for n in lengths]
    for n, values in zip(lengths, samples, strict=True):
        if not len(values) or not np.all(np.isfinite(values)) or values.min() <= 0:
            raise ShapeError(f"length {n} needs positive seconds, got {values.tolist()}.")
    medians = np.array([np.median(values) for values in samples])
    if margins.rounding >= medians.min():
        raise ShapeError(
            f"rounding must be less than every time, got {margins.rounding:g} s for "
            f"{medians.min():g} s."
        )
    repeats = min(len(values) for values in samples)
    if repeats < FEWEST:
        low = (medians - margins.rounding) * (1 - margins.tolerance)
        high = (medians + margins.rounding) * (1 + margins.tolerance)
        return Medians(lengths, medians, low, high, None, repeats)
    generator = np.random.default_rng(seed)
    draws = np.stack([_medians(values, generator) for values in samples], axis=1)
    low, high = np.array([ends(column) for column in draws.T]).T
    return Medians(lengths, medians, low, high, draws, repeats)


def _medians(values: Values, generator: np.random.Generator) -> Values:
    chosen = generator.integers(0, len(values), size=(_DRAWS, len(values)))
    return np.asarray(np.median(values[chosen], axis=1))


def ends(draws: Values) -> tuple[float, float]:
    """Return the ends between which 95 % of the draws lie; infinity may be one of them."""
    ordered, n = np.sort(draws), len(draws)
    return float(ordered[int(0.025 * n)]), float(ordered[ceil(0.975 * n) - 1])


def interval(value: float, low: float, high: float) -> Interval:
    """Return an interval that holds its value, with None for infinity."""
    low, high = min(low, value), max(high, value)
    numbers = (float(x) if np.isfinite(x) else None for x in (value, low, high))
    return Interval(*numbers)
