"""Multi-query associative recall: pairs of a key and a value, then each key again, for its value.

    k1 v1 k2 v2 ... kp vp  _ k2 _ _ k1 _ ...     at each later key, say its value; chance 1 / values

The keys return at places drawn with equal odds from all later ones, where the paper prefers near
ones: so each distance has its share, and a window shows what it cannot reach. Full attention needs
two layers, or a short convolution and one: to join a value to its key, and to find the key. A state
of fixed size holds only so many pairs, and learns slowly to hold them: with the usual steps,
length=128, pairs=32, keys=64 separates linear attention from softmax attention. It says nothing of
language: all other places are blank.
"""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import torch

from attncost.core.errors import ShapeError
from attncost.train.tasks.interface import (
    IGNORED,
    Batch,
    Metric,
    Task,
    Usual,
    chances,
    chances_held_out,
    check_dials,
)

_BLANK = 0


@final
@dataclass(frozen=True, slots=True)
class Recall(Task):
    """Say the value that stood behind this key.

    Tokens are a blank, then `keys` keys, then `values` values.

    Attributes:
        length: Tokens of a sequence, three or more for each pair.
        pairs: Pairs to remember, whose keys differ.
        keys: Different keys that there are.
        values: Different values.

    Raises:
        ShapeError: If the pairs do not fit into the length, or there are too few keys.
    """

    length: int = 64
    pairs: int = 8
    keys: int = 32
    values: int = 32

    source: ClassVar[str] = "Arora et al. 2023, arXiv:2312.04927"
    metric: ClassVar[Metric] = "accuracy"
    causal: ClassVar[bool] = True
    pooled: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_dials(pairs=self.pairs, keys=self.keys, values=self.values)
        if self.length < 3 * self.pairs:
            raise ShapeError(
                f"{self.pairs} pairs and their keys once more take {3 * self.pairs} tokens, got "
                f"length {self.length}."
            )
        if self.keys < self.pairs:
            raise ShapeError(f"{self.pairs} pairs need as many different keys, got {self.keys}.")

    @classmethod
    def examples(cls) -> tuple["Recall", ...]:
        """Return the usual one, one without a blank, and the smallest there is."""
        return cls(), cls(12, pairs=4, keys=4, values=3), cls(3, pairs=1, keys=1, values=1)

    @property
    def vocabulary(self) -> int:
        """Count the blank, keys and values."""
        return 1 + self.keys + self.values

    @property
    def classes(self) -> int:
        """Count the values."""
        return self.values

    @property
    def chance(self) -> float:
        """Guess any value."""
        return 1 / self.values

    @property
    def usual(self) -> Usual:
        """Suffice for full attention up to length=128, pairs=32, keys=64."""
        return Usual(steps=300, batch=64, learning_rate=1e-2)

    def drawn(self, size: int, *, seed: int, step: int) -> Batch:
        """Draw keys, values and places."""
        return self._sequences(size, chances(seed, step))

    def held_out(self, size: int) -> Batch:
        """Draw others."""
        return self._sequences(size, chances_held_out())

    def _sequences(self, size: int, chances: np.random.Generator) -> Batch:
        told = 2 * self.pairs
        keys = _some(chances, size, self.keys, self.pairs)
        values = chances.integers(self.values, size=(size, self.pairs))
        # As the places are in no order, the first key may return last.
        places = told + _some(chances, size, self.length - told, self.pairs)
        tokens = np.full((size, self.length), _BLANK)
        labels = np.full((size, self.length), IGNORED)
        tokens[:, 0:told:2] = 1 + keys
        tokens[:, 1:told:2] = 1 + self.keys + values
        np.put_along_axis(tokens, places, 1 + keys, axis=1)
        np.put_along_axis(labels, places, values, axis=1)
        return Batch(torch.from_numpy(tokens), torch.from_numpy(labels))


def _some(
    chances: np.random.Generator, size: int, below: int, count: int
) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
    """Return, in each row, so many different numbers in any order."""
    rows = np.broadcast_to(np.arange(below), (size, below))
    found: np.ndarray[tuple[int, int], np.dtype[np.int64]]
    found = chances.permuted(rows, axis=1)[:, :count]
    return found
