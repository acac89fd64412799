"""What a verdict rests on: which laws fit the measurements, and how well.

A law fits samples if its errors have a root mean square of at most the tolerance; it fits a
published table if it is within the tolerance, and half of the last printed digit, of every value.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final, final

from attncost.measure.feasible import passes, ratio_range
from attncost.measure.law import Exponent, Margins
from attncost.measure.medians import Medians
from attncost.measure.terms import Terms, rms, rms_within, speeds_within

# In 5 % of runs noise alone gives a mean square error of more than 1.4 times that of the medians:
# chi squared of k - 3 degrees of freedom, over k, is at most that for 4 to 20 lengths.
_CHANCE: Final = 1.4


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
        excess: The same of the best law whose speeds are near enough, without what noise may add.
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
    excess: float
    speeds: tuple[float, float] | None
    agrees: bool

    @property
    def sampled(self) -> bool:
        """Whether there are samples, not a printed value a length."""
        return self.medians.draws is not None

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
    near = rms_within(terms, medians.seconds, speeds=margins.speeds)
    if medians.draws is not None:
        speeds = speeds_within(terms, medians.seconds, tolerance=margins.tolerance)
        agrees = near <= margins.tolerance
    elif terms.merged:
        speeds, agrees = None, passes(terms.columns, medians.low, medians.high)
    else:
        speeds = ratio_range(terms.columns, medians.low, medians.high, of=1, over=2)
        agrees = speeds is not None and (
            speeds[0] <= margins.speeds and speeds[1] >= 1 / margins.speeds
        )
    return Evidence(
        formula=formula,
        medians=medians,
        terms=terms,
        exponents=exponents,
        margins=margins,
        rms=rms(terms.columns, medians.seconds),
        excess=sqrt(max(0.0, near**2 - _CHANCE * medians.noise**2)),
        speeds=speeds,
        agrees=agrees,
    )
