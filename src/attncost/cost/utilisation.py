"""Model FLOPs utilisation: which part of what a device can do a model's arithmetic takes.

    tokens per second * FLOPs of a token / (devices * peak)

FLOPs of a token are those of a sequence over its length, and so depend on the convention: a figure
without one can be off by more than any optimisation gains.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import final

from attncost.core.errors import ShapeError
from attncost.cost.configuration import Configuration
from attncost.cost.conventions import flops_by_convention


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Speed:
    """How fast a model was seen to run, and on what.

    Attributes:
        tokens_per_second: On all devices together.
        peak: FLOPs that one device can do in a second.
        devices: How many there were.
        training: Whether it was trained, or only run forward.
    """

    tokens_per_second: float
    peak: float
    devices: int = 1
    training: bool = True

    def __post_init__(self) -> None:
        for name in ("tokens_per_second", "peak", "devices"):
            _positive(name, getattr(self, name))


@final
@dataclass(frozen=True, slots=True)
class Candidate:
    """A convention that a claimed figure may be in.

    Attributes:
        convention: Its name.
        value: The figure in this convention.
        agrees: Whether the claim is that figure, rounded.
    """

    convention: str
    value: float
    agrees: bool


def utilisation(configuration: Configuration, length: int, speed: Speed) -> dict[str, float]:
    """Return the utilisation in every convention, as a share of 1.

    Args:
        configuration: The model.
        length: Tokens of a sequence.
        speed: How fast it ran.

    Raises:
        ShapeError: If the length is not positive.

    >>> from attncost.cost.configuration import preset
    >>> speed = Speed(tokens_per_second=10_000, peak=989e12)
    >>> shares = utilisation(preset("llama-3-8b"), 8192, speed)
    >>> round(shares["exact"], 3), round(shares["dense"], 3), round(shares["6N"], 3)
    (0.52, 0.586, 0.487)
    """
    _positive("length", length)
    sequences = speed.tokens_per_second / length
    possible = speed.peak * speed.devices
    flops = flops_by_convention(configuration, length, training=speed.training)
    return {name: count * sequences / possible for name, count in flops.items()}


def claimed(
    claim: float, values: Mapping[str, float], *, rounding: float | None = None
) -> tuple[Candidate, ...]:
    """Return the conventions that a claimed figure may be in, the nearest first.

    Args:
        claim: The figure: a share of 1, or FLOPs.
        values: What it would be in each convention: `utilisation(...)`, `flops_by_convention(...)`.
        rounding: How far off it may be for its printed digits; if left out, half of its last digit
            that is not 0, so that 0.462 may be 0.4615 to 0.4625.

    Raises:
        ShapeError: If the claim or the rounding is not positive.

    >>> [one.convention for one in claimed(0.46, {"exact": 0.41, "dense": 0.457}) if one.agrees]
    ['dense']
    """
    _positive("a claimed figure", claim)
    if rounding is None:
        rounding = 0.5 * 10.0 ** int(Decimal(str(claim)).normalize().as_tuple().exponent)
    _positive("rounding", rounding)
    # A figure that lies on the edge is one that rounds to the claim, whatever binary makes of it.
    within = rounding * (1 + 1e-9)
    found = (Candidate(name, value, abs(value - claim) <= within) for name, value in values.items())
    return tuple(sorted(found, key=lambda one: abs(one.value - claim)))


def _positive(name: str, value: float) -> None:
    if not (isfinite(value) and value > 0):
        raise ShapeError(f"{name} must be a positive number, got {value}.")
