"""Reformer: tokens are sorted by a hash of them, and read those in their chunk and the one before.

    in each of r rounds: sort by argmax [x R, -x R], R: d x ⌈n / c⌉ random, cut into chunks of c,
    softmax(x kᵀ / √d) v over 2 c keys, k = x / |x|      time  O(r n c (d + e) + r n² d / c)

Two buckets for each chunk, as in the paper; queries are the keys. Use it when thousands of tokens
look for a few like themselves. Not for short texts, nor when a query reads what is unlike it. The
paper states O(n log n), for it leaves out the product that hashes: n² d / c a round, as much as all
the attention at n = 4 c² (a hash of two factors would avoid it). Sorting and gathering multiply
nothing and have no price here, though they take time.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Final, final

from attncost.core.cost import Cost
from attncost.core.counts import Count, ceil_div, smaller
from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.kernels.interface import SOFTMAX
from attncost.mechanisms.interface import Priced
from attncost.mechanisms.products import product

_READ: Final = 2  # chunks: its own, and the one before
_NORMALISED: Final = 3  # square, sum, division of each feature of a key


@final
@dataclass(frozen=True, slots=True)
class Reformer(Priced):
    """Attention among tokens with the same hash.

    Attributes:
        chunk: Sorted tokens that are cut off together; the last chunk is filled up.
        rounds: Times that it is hashed anew, each with its own attention.
    """

    source: ClassVar[str] = "Kitaev et al. 2020, arXiv:2001.04451"

    chunk: int = 64
    rounds: int = 4

    def __post_init__(self) -> None:
        if self.chunk < 1:
            raise ShapeError(f"chunk must be at least 1 (a token reads its own), got {self.chunk}.")
        if self.rounds < 1:
            raise ShapeError(f"rounds must be at least 1 (it hashes once), got {self.rounds}.")

    @classmethod
    def examples(cls) -> tuple["Reformer", ...]:
        """Return the narrowest, and one whose chunks no length of the tests fills."""
        return cls(1, 1), cls(8, 2)

    def cost(self, dims: Dims) -> Cost:
        """Charge every round: the hash, and attention in chunks that are filled up.

        Raises:
            ShapeError: If there are not as many queries as keys.
        """
        n, m = dims.length, dims.kv_length
        if isinstance(n, int) and isinstance(m, int) and n != m:
            raise ShapeError(
                f"reformer takes its queries for its keys, so there are as many, got {n} queries "
                f"and {m} keys."
            )
        d, e, turns = dims.head_dim, dims.value_dim, dims.batch * dims.heads * self.rounds
        chunks, tokens = ceil_div(n, self.chunk), dims.batch * dims.heads * n
        times = partial(product, itemsize=dims.itemsize)
        turned = tokens * d + d * chunks * self.rounds
        rows, width = turns * chunks * self.chunk, _READ * self.chunk
        useful = turns * n * smaller(width, n)
        scores = times(rows * width, d, operands=rows * 3 * d, made=rows * 3 * d)
        values = rows * (width + _READ * e)
        total = times(rows * e, width, operands=values, made=values)
        return (
            times(tokens * chunks * self.rounds, d, operands=turned).named("hash")
            + Cost(elementwise=2 * turns * n * chunks).named("greatest hash")
            + Cost(elementwise=_NORMALISED * tokens * d).named("keys of length 1")
            + _only(scores, useful * d).named("scores")
            + Cost(elementwise=SOFTMAX * rows * width).named("softmax")
            + _only(total, useful * e).named("weighted sum")
            + Cost(elementwise=turns * n * (SOFTMAX + 2 * e)).named("mean of rounds")
        )


def _only(cost: Cost, multiplied: Count) -> Cost:
    """Return a cost of which so many multiply-adds are useful."""
    return replace(cost, useful=2 * multiplied, dense=2 * multiplied)
