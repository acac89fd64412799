"""From which weight to which colours run: most of a picture's own, so that all colours are used.

Equal steps of colour are equal factors of weight,

    low = 1 % quantile of the cells > 0,  high = 99.9 % quantile,  1e-6 <= low <= high / 4 <= 1 / 4

The page fits its scales alike and writes its numbers alike (`page/31_fitted.js`).
"""

from dataclasses import dataclass
from math import floor, log10
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from attncost.view.maps.arrays.pooled import LOW

_QUANTILES: Final = (0.01, 0.999)
# Ends that lie closer would make noise look like structure.
_APART: Final = 4
# Below, a weight is written with a power of ten.
_PLAIN: Final = 1e-3
# Digits of the numbers between the ends: the first that give more than one of them.
_DIGITS: Final = ((1,), (1, 3), (1, 2, 5))
# Numbers between the ends keep this far from them, as a share of the scale.
_INSIDE: Final = 0.13
_RAISED: Final = str.maketrans(
    "-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
)


@final
@dataclass(frozen=True, slots=True)
class Number:
    """A weight as text: with raised letters, and for those who have none."""

    raised: str
    plain: str

    @classmethod
    def of(cls, value: float, sign: str = "") -> "Number":
        """Return a weight with two digits.

        >>> Number.of(0.034).raised, Number.of(1e-6).raised, Number.of(3.42e-5, "≤ ").plain
        ('0.034', '10⁻⁶', '≤ 3.4e-5')
        """
        digits, power = f"{value:.1e}".split("e")
        digits, exponent = digits.removesuffix(".0"), str(int(power))
        if float(f"{value:.1e}") >= _PLAIN:
            return cls(f"{sign}{value:.2g}", f"{sign}{value:.2g}")
        factor = "" if digits == "1" else f"{digits} \u00b7 "
        return cls(f"{sign}{factor}10{exponent.translate(_RAISED)}", f"{sign}{digits}e{exponent}")


@final
@dataclass(frozen=True, slots=True)
class Scale:
    """What the first colour stands for, and the last."""

    low: float = LOW
    high: float = 1.0

    @classmethod
    def fitted(cls, weights: NDArray[Any]) -> "Scale":
        """Return a scale that most cells lie on.

        >>> Scale.fitted(np.array([0.0, np.nan, 0.5, 0.5]))
        Scale(low=0.125, high=0.5)

        Args:
            weights: NaN where nothing is read.
        """
        some = weights[weights > 0]
        if not some.size:
            return cls()
        low, high = np.quantile(some.astype(np.float64), _QUANTILES, method="inverted_cdf").tolist()
        top = min(1.0, max(high, _APART * LOW))
        return cls(max(LOW, min(low, top / _APART)), top)

    def share(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return how far along the scale weights lie, those beyond an end there."""
        inside = np.clip(np.nan_to_num(weights), self.low, self.high)
        return np.asarray(np.log(inside / self.low) / np.log(self.high / self.low))

    def ends(self) -> tuple[Number, Number]:
        """Return both ends as text."""
        beyond = "" if self.high == 1 else "\u2265 "
        return Number.of(self.low, "\u2264 "), Number.of(self.high, beyond)

    def rounds(self) -> list[tuple[float, Number]]:
        """Return round numbers between the ends, and how far along they lie."""
        found = [self._rounds(digits) for digits in _DIGITS]
        return next((some for some in found if len(some) > 1), found[-1])

    def _rounds(self, digits: tuple[int, ...]) -> list[tuple[float, Number]]:
        powers = range(floor(log10(self.low)), 1)
        values = [float(f"{digit}e{power}") for power in powers for digit in digits]
        shares = self.share(np.array(values)).tolist()
        return [
            (share, Number.of(value))
            for share, value in zip(shares, values, strict=True)
            if _INSIDE < share < 1 - _INSIDE
        ]
