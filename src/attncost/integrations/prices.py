"""What the rows of batches cost in each convention of a meter, from the cost of one sequence.

Each length is priced once, and all new ones in one go, which takes hardly longer than one of them.
"""

from collections.abc import Iterable
from typing import NamedTuple, final

import numpy as np

from attncost.batches.rows import Rows
from attncost.cost.interface import SequenceCost


class Price(NamedTuple):
    """FLOPs by convention, and the part of `exact` that is attention."""

    exact: int
    half: int
    dense: int
    attention: int


@final
class Prices:
    """The prices of rows, by what one sequence costs."""

    __slots__ = ("_cost", "_known")

    def __init__(self, cost: SequenceCost) -> None:
        self._cost = cost
        # Useful core and rest, dense core and rest of a length.
        self._known: dict[int, tuple[int, ...]] = {0: (0, 0, 0, 0)}

    def of(self, batches: Iterable[Rows]) -> Price:
        """Return what batches cost together.

        Raises:
            ShapeError: If a length lies outside what was counted.
        """
        batches = tuple(batches)
        self._learn(
            {n for rows in batches for row in (*rows.documents, (rows.width,)) for n in row}
        )
        real = [self._known[n] for rows in batches for row in rows.documents for n in row]
        wide = [(len(rows.documents), *self._known[rows.width]) for rows in batches]
        attention = sum(core for core, *_ in real)
        return Price(
            exact=attention + sum(linear for _, linear, *_ in real),
            half=sum(size * (rest + core // 2) for size, _, _, core, rest in wide),
            dense=sum(size * (rest + core) for size, _, _, core, rest in wide),
            attention=attention,
        )

    def _learn(self, lengths: set[int]) -> None:
        new = sorted(lengths - self._known.keys())
        if new:
            many = np.array(new, dtype=object)
            core, rest = self._cost.core(many), self._cost.linear(many)
            parts = (core.useful, rest.useful, core.dense, rest.dense)
            columns = [np.broadcast_to(part, len(new)).tolist() for part in parts]
            self._known.update(zip(new, zip(*columns, strict=True), strict=True))
