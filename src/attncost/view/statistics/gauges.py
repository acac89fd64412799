"""What to measure of attention weights, beside what is always measured."""

from dataclasses import dataclass
from itertools import pairwise
from typing import final

from attncost.core.errors import ShapeError


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Gauges:
    """The dials of `statistics`.

    Attributes:
        widths: A key lies within a width if it is fewer tokens away than that, on either side: the
            mass within 1 is that on the query's own token. Increasing.
        quantiles: Shares of a query's mass, increasing, each with the smallest distance within
            which it lies.
        first: How many of the first keys are looked at as a sink; Xiao et al. 2023,
            arXiv:2309.17453.
        negligible: A weight below this is negligible.
        map_size: The most rows, and columns, of the pooled map.

    Raises:
        ShapeError: If a dial is out of its range.
    """

    widths: tuple[int, ...] = (16, 64, 256, 1024)
    quantiles: tuple[float, ...] = (0.5, 0.95)
    first: int = 4
    negligible: float = 1e-4
    map_size: int = 64

    def __post_init__(self) -> None:
        _check_increasing("widths", self.widths, at_least=1)
        _check_increasing("quantiles", self.quantiles, at_least=0)
        if self.quantiles and not 0 < self.quantiles[0] <= self.quantiles[-1] <= 1:
            raise ShapeError(f"quantiles must lie in (0, 1], got {self.quantiles}.")
        if self.first < 0 or self.map_size < 1 or not 0 <= self.negligible < 1:
            raise ShapeError(
                f"gauges must have first >= 0, map_size >= 1 and 0 <= negligible < 1, got "
                f"{self.first}, {self.map_size} and {self.negligible}."
            )


def _check_increasing(name: str, values: tuple[float, ...], *, at_least: int) -> None:
    if any(one >= other for one, other in pairwise(values)) or min(values, default=1) < at_least:
        raise ShapeError(f"{name} must increase from at least {at_least}, got {values}.")
