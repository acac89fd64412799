"""What a sweep visits, in which order, and when it stops.

    cases = lengths x batches x types x threads x modes, on one device

The order of a round is drawn from the seed and its number alone, so that a sweep which was stopped
goes on as if it never had been.
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise, product
from math import inf
from typing import Any, Final, TypeVar, final

from attncost.core.errors import ShapeError, UnknownName
from attncost.measure.subjects.case import LONGEST, MODES, Case
from attncost.measure.sweep.written import made

FEWEST_ROUNDS: Final = 2
_MOST_ROUNDS: Final = 10**9
# What a plan has several of, and what a case calls one of them.
_AXES: Final = {"batches": "batch", "dtypes": "dtype", "threads": "threads", "modes": "mode"}

T = TypeVar("T")


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What to visit, and how often.

    Attributes:
        lengths: Tokens of a sequence, positive and strictly increasing.
        batches: Sequences in a call.
        dtypes: Types of weights and activations.
        threads: Threads of the CPU.
        modes: `forward`, `training`, `decode`.
        device: `cpu` or `cuda`.
        rounds: How often each cell is sampled, at most.
        seed: Of the order of cells.
        budget: Seconds, warming up included, after which no further round begins, though always the
            second; or None.
        enough: How wide the 95 % interval of an exponent may be; once all are that narrow, it
            stops; or None.
    """

    lengths: tuple[int, ...]
    batches: tuple[int, ...] = (1,)
    dtypes: tuple[str, ...] = ("float32",)
    threads: tuple[int, ...] = (1,)
    modes: tuple[str, ...] = ("forward",)
    device: str = "cpu"
    rounds: int = 40
    seed: int = 0
    budget: float | None = None
    enough: float | None = None

    def __post_init__(self) -> None:
        n = self.lengths
        if not n or n[0] < 1 or any(a >= b for a, b in pairwise(n)) or n[-1] > LONGEST:
            raise ShapeError(
                "lengths must be positive and strictly increasing, as in 64,128,256, and at most "
                f"{LONGEST:,}, got {','.join(map(str, n)) or 'none'}."
            )
        if not 1 <= self.rounds <= _MOST_ROUNDS:
            raise ShapeError(
                f"rounds must be at least 1 and at most {_MOST_ROUNDS:,}, got {self.rounds}."
            )
        if self.budget is not None and not 0 < self.budget < inf:
            raise ShapeError(f"budget must be a positive number of seconds, got {self.budget:g}.")
        if self.enough is not None and not 0 < self.enough < inf:
            raise ShapeError(
                f"enough must be a positive width of an interval, such as 0.1, got {self.enough:g}."
            )
        self._check_axes()

    @classmethod
    def of(cls, written: object) -> "Plan":
        """Read what `asdict` wrote into JSON.

        Raises:
            ShapeError: If it is no plan.
        """
        return made(cls, written, of="plan")

    def _check_axes(self) -> None:
        for name in _AXES:
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                said = ",".join(map(str, values)) or "none"
                raise ShapeError(f"{name} must be one or more that differ, got {said}.")
        for mode in self.modes:
            if mode not in MODES:
                raise UnknownName("mode", mode, MODES)
        self.series()  # Each case checks the rest.

    def written(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return asdict(self)

    def series(self) -> tuple[Case, ...]:
        """Return the cases of the first length: one a series."""
        usual: dict[str, Any] = {"length": self.lengths[0], "device": self.device}
        chosen = product(*(getattr(self, name) for name in _AXES))
        return tuple(Case(**usual, **dict(zip(_AXES.values(), one, strict=True))) for one in chosen)

    def cases(self) -> tuple[Case, ...]:
        """Return every case; short ones come first, as they say what long ones will take."""
        return tuple(case.at(length) for length in self.lengths for case in self.series())

    def order(self, cells: Sequence[T], number: int) -> list[T]:
        """Return the cells in the order in which a round visits them.

        >>> plan = Plan(lengths=(64,))
        >>> plan.order("abcd", 0), plan.order("abcd", 1)
        (['a', 'd', 'b', 'c'], ['a', 'b', 'c', 'd'])
        """
        shuffled = list(cells)
        random.Random(f"{self.seed}/{number}").shuffle(shuffled)
        return shuffled
