"""What a model takes, as two curves: one over the slots of a call, one over the length of a text.

    seconds(batch, length) = rest(batch * length) + batch * attend(length)

Nobody has to say which operations are attention. `rest(s)` is what many sequences of 16 tokens
take, s together, and `attend(n)` what one sequence of n tokens takes beyond as many short ones: its
masks, its softmax and its copies are in it, whatever computes them.
What attention takes of the 16 tokens themselves does not show. It is guessed: with it, attention of
the two shortest lengths grows as their square. So much for each 16 slots moves from `rest` to
`attend`, and the sum of both stays what it was.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Final, TypeAlias, final

from attncost.batches.curves import Curves
from attncost.batches.machine import Looping
from attncost.measure.speed.calibration import Calibration
from attncost.measure.speed.families import placed
from attncost.measure.speed.operation import Recording
from attncost.measure.speed.predict import predicted
from attncost.measure.speed.record import heard

# Takes a batch and a length.
Seconds: TypeAlias = Callable[[int, int], float]

# Tokens of a sequence whose attention does not show.
_SHORT: Final = 16
# Lengths of two neighbouring points; slots are twice as many from point to point.
_STEP: Final = 2**0.5
_FUSED: Final = "attention"
# What does not show takes no time that matters.
_LEAST: Final = 1e-9


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """Which calls show both curves: of one sequence, and of many short ones.

    Attributes:
        short: Tokens of a short sequence.
        lengths: How many times as long the single sequences are; increasing, and the first is 1.
        counts: How many short sequences there are; those of `lengths` at least.
    """

    short: int
    lengths: Sequence[int]
    counts: Collection[int]

    @classmethod
    def of(cls, *, longest: int, slots: int, step: float = _STEP) -> "Grid":
        """Return the calls for sequences and batches up to a size.

        Args:
            longest: Tokens of the longest sequence.
            slots: Of the largest batch.
            step: How many times as long a sequence is as the one before.
        """
        short = max(1, min(_SHORT, longest // 2))
        lengths = spaced(longest // short, step)
        return cls(short, lengths, {*lengths, *spaced(max(1, slots // short), 2.0)})

    @property
    def calls(self) -> int:
        """How many there are; one short sequence is both the shortest and the fewest."""
        return len(self.lengths) + len(self.counts) - 1


def foretold_curves(
    run: Callable[[int, int], object],
    calibration: Calibration,
    *,
    name: str,
    slots: int,
    longest: int,
) -> Curves:
    """Return what a model would take on a calibrated machine; nothing is computed.

    Args:
        run: Asks `memory` of one call, given a batch and a length; such as `remembered`.
        calibration: What is known of the machine.
        name: Of the model.
        slots: Of the largest batch that will be asked for.
        longest: Tokens of the longest sequence.

    Raises:
        ShapeError: If the model cannot be run without numbers.
    """
    layers = 0

    def seconds(batch: int, length: int) -> float:
        nonlocal layers
        recording = heard(partial(run, batch, length))
        layers = _layers(recording)
        return predicted(recording, calibration).seconds.value or 0.0

    where = calibration.environment.get("processor") or "calibrated"
    grid = Grid.of(longest=longest, slots=slots)
    rest, attend = curves(seconds, grid)
    row, text = calibration.packed
    looping = Looping(layers * row, layers * text)
    return Curves(f"{name}, {where}", rest=rest, attend=attend, packed=looping)


def curves(seconds: Seconds, grid: Grid) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """Return the points of both curves, from what calls take.

    Args:
        seconds: What so many sequences of a length take, asked once for each.
        grid: Which calls to ask for.
    """
    took, short = cache(seconds), grid.short
    beyond = [(n, took(1, n * short) - took(n, short)) for n in grid.lengths]
    shift = _shift(beyond)
    attend = [(n * short, max(more + n * shift, _LEAST)) for n, more in beyond]
    rest = [(n * short, max(took(n, short) - n * shift, _LEAST)) for n in sorted(grid.counts)]
    return rest, attend


def spaced(most: int, step: float) -> list[int]:
    """Return numbers from 1 on, each about so many times the one before, the last one included.

    >>> spaced(20, 2**0.5), spaced(12, 2)
    ([1, 2, 3, 4, 6, 8, 11, 16, 20], [1, 2, 4, 8, 12])
    """
    found, size = [], 1.0
    while size < most:
        found.append(round(size))
        size *= step
    return sorted({*found, most})


def _layers(recording: Recording) -> int:
    """Return how often attention is computed: by operations of its own."""
    places = (placed(one) for one in recording.operations if one.kind != "free")
    return sum(place is not None and place[0].startswith(_FUSED) for place in places)


def _shift(beyond: Sequence[tuple[int, float]]) -> float:
    """Return what is taken for attention of a short sequence, of which nothing is known.

    With it the second length takes four times as much as the first if it is twice as long, and no
    length less than a shorter one: what a model does once for each sequence may be more than
    attention of a few tokens, and is counted with it.
    """
    square = [more / (n * n - n) for n, more in beyond[1:2]]
    falls = [(a[1] - b[1]) / (b[0] - a[0]) for a, b in pairwise(beyond)]
    return max([0.0, *square, *falls])
