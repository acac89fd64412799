"""Top-k attention: a query compares itself with every key, and reads the k best alone.

    softmax over the k greatest of q kᵀ / √d, times their values           time  O(n m d + n k e)

Exact weights for what it keeps, and only the softmax and the weighted sum are thinned out. Use it
when memory is short in training: k weights of a row are kept for the backward pass, not m. Not for
saving time: all scores are computed, so it never saves more than half of the FLOPs (for as many
features of values as of keys), and it moves k values for each query where a matrix product reads
each value once.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

from attncost.core.cost import Cost
from attncost.core.counts import smaller
from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.kernels.interface import SOFTMAX
from attncost.mechanisms.interface import Priced
from attncost.mechanisms.products import product


@final
@dataclass(frozen=True, slots=True)
class TopK(Priced):
    """Attention to the best keys.

    Attributes:
        keys: How many a query reads at most.
    """

    source: ClassVar[str] = "Gupta et al. 2021, arXiv:2106.06899"

    keys: int = 64

    def __post_init__(self) -> None:
        if self.keys < 1:
            raise ShapeError(f"keys must be at least 1 (a query reads the best), got {self.keys}.")

    @classmethod
    def examples(cls) -> tuple["TopK", ...]:
        """Return the best alone, and more than short texts have."""
        return cls(1), cls(16)

    def cost(self, dims: Dims) -> Cost:
        """Charge all scores, then a gathered row of values for each query."""
        m, d, e = dims.kv_length, dims.head_dim, dims.value_dim
        queries, kept = dims.batch * dims.heads * dims.length, smaller(self.keys, m)
        times = partial(product, itemsize=dims.itemsize)
        compared = queries * d + dims.batch * dims.kv_heads * m * d
        read = queries * kept * (1 + e)
        return (
            times(queries * m, d, operands=compared).named("scores")
            + Cost(elementwise=queries * m).named("selection")
            + Cost(elementwise=SOFTMAX * queries * kept).named("softmax")
            + times(queries * e, kept, operands=read, made=read).named("weighted sum")
        )
