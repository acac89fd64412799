"""What padding wastes: a batch is as long as its longest sequence.

    tokens  sum over batches of  size * longest      pairs  sum over batches of  size * longest²

Work per token (projections, feed-forward) is wasted as tokens are, attention as pairs are.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from attncost.core.errors import ShapeError


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Waste:
    """What a set of batches holds, and what a model computes on it.

    Attributes:
        tokens: Tokens of the sequences.
        padded_tokens: The same with padding.
        pairs: Pairs of queries and keys within the sequences, without a mask.
        padded_pairs: The same with padding.
    """

    tokens: int
    padded_tokens: int
    pairs: int
    padded_pairs: int

    @property
    def wasted_tokens(self) -> float:
        """The share of computed tokens that are padding."""
        return 1 - self.tokens / self.padded_tokens if self.padded_tokens else 0.0

    @property
    def times_pairs(self) -> float:
        """How many pairs are computed for each one within the sequences."""
        return self.padded_pairs / self.pairs if self.pairs else 1.0

    def __add__(self, other: "Waste") -> "Waste":
        return Waste(
            tokens=self.tokens + other.tokens,
            padded_tokens=self.padded_tokens + other.padded_tokens,
            pairs=self.pairs + other.pairs,
            padded_pairs=self.padded_pairs + other.padded_pairs,
        )


def padded(lengths: Sequence[int], *, batch_size: int) -> Waste:
    """Return the waste of batches that take the sequences in the order given.

    Args:
        lengths: Tokens of each sequence, at least 0.
        batch_size: Sequences in a batch; the last may be smaller.

    Raises:
        ShapeError: If there is no sequence, one is shorter than nothing, or a batch is empty.
    """
    if batch_size < 1:
        raise ShapeError(f"batch_size must be at least 1, got {batch_size}.")
    if not lengths or min(lengths) < 0:
        raise ShapeError(f"lengths must be one or more and at least 0, got {list(lengths)[:9]}.")
    batches = (lengths[i : i + batch_size] for i in range(0, len(lengths), batch_size))
    return _sum(_of_batch(batch) for batch in batches)


def padded_at_random(
    lengths: Sequence[int], *, batch_size: int, shuffles: int = 20, seed: int = 0
) -> Waste:
    """Return the waste of batches drawn at random, summed over several shuffles."""
    random_order = random.Random(seed)
    order = list(lengths)

    def shuffled() -> Sequence[int]:
        random_order.shuffle(order)
        return order

    return _sum(padded(shuffled(), batch_size=batch_size) for _ in range(shuffles))


def _of_batch(batch: Sequence[int]) -> Waste:
    longest = max(batch)
    return Waste(
        tokens=sum(batch),
        padded_tokens=len(batch) * longest,
        pairs=sum(length**2 for length in batch),
        padded_pairs=len(batch) * longest**2,
    )


def _sum(wastes: Iterable[Waste]) -> Waste:
    return sum(wastes, Waste(tokens=0, padded_tokens=0, pairs=0, padded_pairs=0))
