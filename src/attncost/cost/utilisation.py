"""Model FLOPs utilisation: which part of what devices can do a model's arithmetic takes.

    FLOPs / (seconds * peak)        peak: FLOP/s of all devices together

How many FLOPs a model takes depends on the convention: a figure without one can be off by more than
any optimisation gains.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Final, final

from attncost.core.errors import ShapeError
from attncost.core.notebook import as_html
from attncost.cost.configuration import Configuration
from attncost.cost.conventions import flops_by_convention

_PRINTED: Final = r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(%?)"


@final
@dataclass(frozen=True, slots=True)
class Printed:
    """A figure as somebody printed it.

    Attributes:
        value: The number; a percentage is a share of 1.
        rounding: How far off it may be: half of its last digit, zeros included.
    """

    value: float
    rounding: float


@final
@dataclass(frozen=True, slots=True)
class Candidate:
    """A convention that a claimed figure may be in.

    Attributes:
        convention: Its name.
        value: The figure in this convention.
        agrees: Whether the claim is that figure, rounded.
    """

    _repr_html_ = as_html

    convention: str
    value: float
    agrees: bool


def utilisation(
    configuration: Configuration,
    length: int,
    *,
    tokens_per_second: float,
    peak: float,
    training: bool = True,
) -> dict[str, float]:
    """Return the utilisation in every convention, as a share of 1.

    Args:
        configuration: The model.
        length: Tokens of a sequence.
        tokens_per_second: On all devices together.
        peak: FLOP/s of all devices together.
        training: Whether the model was trained, or only run forward.

    Raises:
        ShapeError: If a number is not positive.

    >>> from attncost.cost.reading import preset
    >>> shares = utilisation(preset("llama-3-8b"), 8192, tokens_per_second=10_000, peak=989e12)
    >>> round(shares["exact"], 3), round(shares["dense"], 3), round(shares["6N"], 3)
    (0.52, 0.586, 0.487)
    """
    check_positive(length=length, tokens_per_second=tokens_per_second, peak=peak)
    flops = flops_by_convention(configuration, length, training=training)
    return shares_of_peak(flops, seconds=length / tokens_per_second, peak=peak)


def shares_of_peak(flops: Mapping[str, float], *, seconds: float, peak: float) -> dict[str, float]:
    """Return which share of the peak FLOPs are that took so long, by convention.

    >>> shares_of_peak({"exact": 3e12, "dense": 4e12}, seconds=2, peak=5e12)
    {'exact': 0.3, 'dense': 0.4}
    """
    able = peak * seconds
    return {name: count / able for name, count in flops.items()}


def claimed(claim: str, values: Mapping[str, float]) -> tuple[Candidate, ...]:
    """Return the conventions that a claimed figure may be in, the nearest first.

    Args:
        claim: The figure as it is printed, for its digits say how it was rounded: `46.2%`, `0.462`,
            `3.14e23`.
        values: What it would be in each convention: `utilisation(...)`, `flops_by_convention(...)`.

    Raises:
        ShapeError: If the claim is no positive number.

    >>> [one.convention for one in claimed("46%", {"exact": 0.41, "dense": 0.457}) if one.agrees]
    ['dense']
    """
    figure = printed(claim)
    # A figure that lies on the edge is one that rounds to the claim, whatever binary makes of it.
    within = figure.rounding * (1 + 1e-9)
    found = [(abs(value - figure.value), name, value) for name, value in values.items()]
    return tuple(
        Candidate(name, value, away <= within)
        for away, name, value in sorted(found, key=lambda one: one[0])
    )


def printed(text: object, *, of: str = "a claimed figure") -> Printed:
    """Read a figure off what was printed.

    Args:
        text: The figure; anything but text is refused, as a number has forgotten its digits.
        of: What to call it in an error.

    Raises:
        ShapeError: If it is no positive number.

    >>> printed("46.2%"), printed("0.50")
    (Printed(value=0.462, rounding=0.0005), Printed(value=0.5, rounding=0.005))
    """
    found = re.fullmatch(_PRINTED, text.strip()) if isinstance(text, str) else None
    number = Decimal(found[1]).scaleb(-2 if found[2] else 0) if found else Decimal(0)
    if not (number > 0 and isfinite(float(number))):
        raise ShapeError(
            f"{of} must be a positive figure as it is printed, such as '46.2%', '0.462' or "
            f"'3.14e23', got {text!r}."
        )
    last = int(number.as_tuple().exponent)
    return Printed(value=float(number), rounding=float(Decimal(5).scaleb(last - 1)))


def check_positive(**values: float) -> None:
    """Refuse numbers that are not positive, by name.

    Raises:
        ShapeError: If one is not.
    """
    for name, value in values.items():
        if not (isfinite(value) and value > 0):
            raise ShapeError(f"{name} must be a positive number, got {value}.")
