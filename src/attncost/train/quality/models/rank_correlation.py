"""Whether layers that lose mass are those that change: a rank correlation, Spearman 1904."""

from collections.abc import Iterable
from typing import Final

from attncost.train.quality.models.results import Compared, Swapped

# Of fewer points a correlation of 0.4 comes by chance alone.
_LEAST: Final = 20


def mass_and_moves(found: Compared) -> tuple[float, int] | None:
    """Return the correlation of mass left out and how far outputs move, and over how many points.

    A point is a layer under a pattern, on the activations of the model as it is.
    """
    points = [
        (1 - layer.mass, layer.moved)
        for one in found.swapped
        for layer in one.layers
        if layer.mass is not None and layer.moved is not None
    ]
    return correlation(points)


def mass_and_loss(found: Compared) -> tuple[float, int] | None:
    """Return the correlation of mass left out by one layer and what the whole model loses by it."""
    kept = mass_alone(found)
    points = [
        (1 - kept[one.name], one.loss) for one in found.alone if kept.get(one.name) is not None
    ]
    return correlation(points)


def mass_alone(found: Compared) -> dict[str, float]:
    """Return the mass that each layer keeps under what is swapped into one layer at a time."""
    if not found.alone_of:
        return {}
    swapped = alone_swapped(found)
    return {one.name: one.mass for one in swapped.layers if one.mass is not None}


def alone_swapped(found: Compared) -> Swapped:
    """Return what the same attention changes in all layers."""
    return next(one for one in found.swapped if one.attention == found.alone_of)


def correlation(points: Iterable[tuple[float, float]]) -> tuple[float, int] | None:
    """Return the rank correlation of pairs and their number, if they are enough and vary."""
    from scipy.stats import spearmanr  # noqa: PLC0415 -- takes longer to import than all the rest

    pairs = list(points)
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    if len(pairs) < _LEAST or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(spearmanr(first, second).statistic), len(pairs)
