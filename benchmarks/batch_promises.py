"""What `benchmarks.batches` finds on texts of one kind, and what was promised of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.batch_contestants import BASE
from benchmarks.promise import Promise

from attncost.measure.sweep.interleaved import Samples, ratio

# Texts on which padding is a number alone, without running anything.
MANY: Final = 6000


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was found on texts of one kind.

    Attributes:
        name: Of the texts.
        lengths: Tokens of each.
        chosen: The way that was chosen without running the model.
        base: What the others are compared with.
        differ: How far the outputs of each contestant are from those of the chosen way.
        samples: Seconds of each contestant that computes the same numbers.
    """

    name: str
    lengths: tuple[int, ...]
    chosen: str
    base: str
    differ: Mapping[str, float]
    samples: Samples


def promises(found: Found) -> list[Promise]:
    """Return what was promised on texts of one kind."""
    middle = {name: median(taken.values()) for name, taken in found.samples.items()}
    # One that was visited once may have been lucky.
    others = [name for name in middle if name not in (found.chosen, BASE)]
    often = [name for name in others if len(found.samples[name]) > 1]
    best = min(often or others, key=middle.__getitem__)
    limits = {BASE: 0.35, best: 1.0} if found.base == BASE else {best: 1.1}
    made = []
    for other, limit in limits.items():
        one = ratio(found.samples, found.chosen, other)
        name = f"{found.name}: {found.chosen} against {other}"
        made.append(Promise(name=name, figure=one.figure, low=one.low, high=one.high, limit=limit))
    return made


def promises_of_padding(name: str, wasted: tuple[float, float]) -> list[Promise]:
    """Return what was promised of padding, which is a number."""
    chance, pooled = wasted
    return [
        Promise(
            name=f"{name}, {MANY:,}: {what}", figure=figure, low=figure, high=figure, limit=most
        )
        for what, figure, most in (
            ("padding in pools of 50", pooled, 0.12),
            ("what is no padding at random", 1 - chance, 0.25),
        )
    ]
