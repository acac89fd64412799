"""What a verdict rests on: which laws fit the measurements, and how well.

A law fits samples if its errors have a root mean square of at most the tolerance. It fits a
published table if it is within the tolerance, and half of the last printed digit, of every value,
and fewer than 6 samples a length if it is so near to the range of each length's samples.

    noise  = median over draws of the error of the best law, where the times are exactly a law
    proved = sqrt(what the squared error of the best law exceeds in 95 % of draws - 2 noise**2)

Noise adds to errors in squares, once in the medians and once more in each draw of them, so it is
taken off twice. Where every length is slow alike a law is as good as before, so that is no noise.
"""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Final, final

import numpy as np

from attncost.measure.laws.bands import passes, ratio_range
from attncost.measure.laws.criterion import noise_of
from attncost.measure.laws.law import Margins
from attncost.measure.laws.medians import Medians
from attncost.measure.laws.results import Exponent
from attncost.measure.laws.squares import Values, rms, rms_each
from attncost.measure.laws.terms import PLACES, Terms, speeds_within

_DOUBT: Final = 0.05


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Evidence:
    """Measurements beside a formula.

    Attributes:
        formula: What the measurements are compared with.
        medians: The measurements.
        terms: The formula at their lengths.
        exponents: Of both, between neighbouring lengths.
        margins: What is forgiven.
        rms: Relative error of the best law, whatever its speeds.
        near: The same of the best law whose speeds are near enough.
        noise: Error that noise alone would make of an exact law; 0 without draws.
        proved: What of `near` noise does not explain in 95 % of draws; all of it without draws.
        speeds: The least and the greatest c1 / c2 of the laws that fit; None if none does, or if
            the terms are merged.
        agrees: Whether a law fits whose speeds are near enough.
    """

    formula: str
    medians: Medians
    terms: Terms
    exponents: tuple[Exponent, ...]
    margins: Margins
    rms: float
    near: float
    noise: float
    proved: float
    speeds: tuple[float, float] | None
    agrees: bool

    @property
    def sampled(self) -> bool:
        """Whether there are samples enough to tell noise."""
        return self.medians.draws is not None

    @property
    def needed(self) -> int | None:
        """The length that would place the crossover; None if there is none, or if it is reached."""
        theory = self.terms.crossing(1.0)
        if theory is None or self.medians.lengths[-1] >= round(PLACES * theory):
            return None
        return ceil(round(PLACES * theory, 6))

    @property
    def settled(self) -> bool:
        """Whether no law fits whose speeds are too far apart."""
        if self.speeds is None:
            return True
        return 1 / self.margins.speeds <= self.speeds[0] <= self.speeds[1] <= self.margins.speeds


def weigh(
    medians: Medians,
    terms: Terms,
    *,
    exponents: tuple[Exponent, ...],
    formula: str,
    margins: Margins,
) -> Evidence:
    """Find the laws that fit."""
    columns, draws = terms.columns_within(margins.speeds), medians.draws
    near = rms(columns, medians.seconds)
    if draws is not None:
        speeds = speeds_within(terms, medians.seconds, tolerance=margins.tolerance)
        agrees = near <= margins.tolerance
    elif terms.merged:
        speeds, agrees = None, passes(terms.columns, medians.low, medians.high)
    else:
        speeds = ratio_range(terms.columns, medians.low, medians.high, of=1, over=2)
        agrees = speeds is not None and (
            speeds[0] <= margins.speeds and speeds[1] >= 1 / margins.speeds
        )
    noise = noise_of(columns, medians)
    return Evidence(
        formula=formula,
        medians=medians,
        terms=terms,
        exponents=exponents,
        margins=margins,
        rms=rms(terms.columns, medians.seconds),
        near=near,
        noise=noise,
        proved=near if draws is None else _proved(columns, draws, noise=noise),
        speeds=speeds,
        agrees=agrees,
    )


def _proved(columns: Values, draws: Values, *, noise: float) -> float:
    exceeded = float(np.quantile(rms_each(columns, draws) ** 2, _DOUBT))
    return sqrt(max(0.0, exceeded - 2 * noise**2))
