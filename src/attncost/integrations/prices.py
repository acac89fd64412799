"""What the rows of batches cost in each convention of a meter, from the cost of one sequence."""

from collections.abc import Iterable
from typing import NamedTuple, final

from attncost.batches.per_length import PerLength
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

    __slots__ = ("_known",)

    def __init__(self, cost: SequenceCost) -> None:
        self._known = PerLength(cost)

    def of(self, batches: Iterable[Rows]) -> Price:
        """Return what batches cost together.

        Raises:
            ShapeError: If a length lies outside what was counted.
        """
        batches = tuple(batches)
        self._known.learn(
            {n for rows in batches for row in (*rows.documents, (rows.width,)) for n in row}
        )
        real = [self._known[n] for rows in batches for row in rows.documents for n in row]
        wide = [(len(rows.documents), self._known[rows.width]) for rows in batches]
        return Price(
            exact=sum(one.useful for one in real),
            half=sum(size * (one.dense_rest + one.dense_core // 2) for size, one in wide),
            dense=sum(size * one.dense for size, one in wide),
            attention=sum(one.useful_core for one in real),
        )
