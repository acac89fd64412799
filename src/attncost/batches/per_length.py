"""What sequences cost by their length, each length priced once.

New lengths are priced all in one go, which takes hardly longer than one of them.
"""

from collections.abc import Iterable
from typing import NamedTuple, final

import numpy as np

from attncost.core.cost import Cost
from attncost.core.counts import Count
from attncost.cost.interface import SequenceCost


class Flops(NamedTuple):
    """FLOPs of one sequence: of attention between the projections, and of all the rest."""

    useful_core: int
    executed_core: int
    dense_core: int
    useful_rest: int
    executed_rest: int
    dense_rest: int

    @property
    def useful(self) -> int:
        """Those of the pairs that the definition reads."""
        return self.useful_core + self.useful_rest

    @property
    def dense(self) -> int:
        """Those without any mask."""
        return self.dense_core + self.dense_rest


@final
class PerLength:
    """The FLOPs of sequences of all lengths that were learned.

    >>> from attncost.cost.reading import preset
    >>> prices = PerLength(preset("bert-base"))
    >>> prices.learn([512, 0])
    >>> prices[512].useful_core, prices[0].useful
    (9663676416, 0)
    """

    __slots__ = ("_cost", "_known")

    def __init__(self, cost: SequenceCost) -> None:
        self._cost = cost
        self._known = {0: Flops(0, 0, 0, 0, 0, 0)}

    def learn(self, lengths: Iterable[int]) -> None:
        """Price all lengths that are not known yet.

        Raises:
            ShapeError: If one lies outside what was counted.
        """
        new = sorted(set(lengths) - self._known.keys())
        if new:
            many = np.array(new, dtype=object)
            parts = (*_parts(self._cost.core(many)), *_parts(self._cost.linear(many)))
            columns = [np.broadcast_to(part, len(new)).tolist() for part in parts]
            self._known.update(zip(new, map(Flops._make, zip(*columns, strict=True)), strict=True))

    def __getitem__(self, length: int) -> Flops:
        return self._known[length]


def _parts(cost: Cost) -> tuple[Count, ...]:
    return cost.useful, cost.executed, cost.dense
