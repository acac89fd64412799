"""Which of several laws explains the times best, by Akaike's criterion for few measurements.

    AICc = m log(e²) + 2 k + 2 k (k + 1) / (m - k - 1)

of m lengths, a relative rms error e and k - 1 coefficients (Hurvich and Tsai, 1989; the error is
the k-th parameter). Errors less than the noise of the medians count as that: below it there is
nothing to explain. A law whose AICc is greater by 10 has next to no support (Burnham and
Anderson, 2002).
"""

from math import inf, log
from typing import Final

import numpy as np

from attncost.measure.laws.medians import Medians
from attncost.measure.laws.squares import Values, rms_each, solve

GAP: Final = 10.0
# No kernel takes the same time for the same work to better than this.
_FINEST: Final = 1e-3


def aicc(error: float, *, lengths: int, coefficients: int, noise: float) -> float:
    """Return the criterion; infinity if there are too many coefficients for so few lengths."""
    k = coefficients + 1
    if lengths <= k + 1:
        return inf
    return 2 * lengths * log(max(error, noise)) + 2 * k + 2 * k * (k + 1) / (lengths - k - 1)


def noise_of(columns: Values, medians: Medians) -> float:
    """Return the rms error that noise alone would make of an exact law; 0 without draws."""
    if medians.draws is None:
        return 0.0
    law = columns @ solve(columns, medians.seconds)
    return float(np.median(rms_each(columns, law * medians.draws / medians.seconds)))


def finest(columns: Values, medians: Medians, *, rounding: float) -> float:
    """Return the relative error below which there is nothing to explain."""
    # A value that was rounded lies anywhere within half of the last digit.
    rounded = float(np.sqrt(np.mean((rounding / medians.seconds) ** 2) / 3))
    return max(noise_of(columns, medians), rounded, _FINEST)
