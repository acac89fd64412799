"""Nyström attention: scores with a few landmarks stand for the scores of all pairs.

    (F A⁺) (B v),  F = softmax(q k̃ᵀ / √d), A = softmax(q̃ k̃ᵀ / √d), B = softmax(q̃ kᵀ / √d)
    q̃, k̃: means of c segments of queries, of keys          time  O(n c (c + d) + m c d + i c³)

The pseudo-inverse A⁺ takes i iterations of four products, Z ← ¼ Z (13 - A Z (15 - A Z (7 - A Z))).
Use it when an encoder reads thousands of tokens whose scores change slowly along the text. Not for
a decoder: a landmark averages later tokens, too. The means blur what one token alone says, and the
convolution that the authors add to make up for it is left out of the price.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, final

from attncost.core.cost import Cost
from attncost.core.counts import Count, smaller
from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.kernels.interface import SOFTMAX
from attncost.mechanisms.interface import Priced
from attncost.mechanisms.products import product

# Of c² elements. An iteration subtracts three times and divides once; before the first there are
# absolute values, two sums and a division.
_AROUND: Final = 4


@final
@dataclass(frozen=True, slots=True)
class Nystrom(Priced):
    """Attention through landmarks.

    Attributes:
        landmarks: Means that stand for all queries, and for all keys; no more than there are.
        iterations: Steps towards the pseudo-inverse.
    """

    source: ClassVar[str] = "Xiong et al. 2021, arXiv:2102.03902"

    landmarks: int = 64
    iterations: int = 6

    def __post_init__(self) -> None:
        if self.landmarks < 1:
            raise ShapeError(f"landmarks must be at least 1 (a mean of all), got {self.landmarks}.")
        if self.iterations < 1:
            raise ShapeError(
                "iterations must be at least 1 (they make the pseudo-inverse), got "
                f"{self.iterations}."
            )

    @classmethod
    def examples(cls) -> tuple["Nystrom", ...]:
        """Return the coarsest and one with more landmarks than short texts have tokens."""
        return cls(1, 1), cls(8)

    def cost(self, dims: Dims) -> Cost:
        """Charge the means, three softmaxes, the pseudo-inverse, and products as in the formula."""
        h, g, n, m = dims.heads, dims.kv_heads, dims.length, dims.kv_length
        d, e, c = dims.head_dim, dims.value_dim, smaller(self.landmarks, smaller(n, m))
        times = partial(product, itemsize=dims.itemsize)
        left = times(h * n * c, d, operands=h * n * d + g * c * d, made=g * c * d)
        middle = times(h * c * c, d, operands=h * c * d + g * c * d, made=h * c * d)
        right = times(h * c * m, d, operands=h * c * d + g * m * d)
        joined = times(h * n * c, c, operands=h * c * (n + c), made=h * n * c)
        values = times(h * c * e, m, operands=h * c * m + g * m * e, made=h * c * m)
        one = (
            Cost(elementwise=(h * n + g * m) * d).named("landmarks")
            + (left + middle + right).named("scores")
            + Cost(elementwise=SOFTMAX * h * c * (n + c + m)).named("softmax")
            + self._inverse(h * c * c, c, dims.itemsize).named("pseudo-inverse")
            + Cost(elementwise=_AROUND * (self.iterations + 1) * h * c * c).named("subtractions")
            + joined.named("inverse for queries")
            + values.named("weighted sum")
            + times(h * n * e, c, operands=h * c * (n + e)).named("sum for queries")
        )
        return one * dims.batch

    def _inverse(self, elements: Count, c: Count, itemsize: Count) -> Cost:
        """Charge four products an iteration, one factor of each made by elementwise steps."""
        one = product(elements, c, operands=2 * elements, made=elements, itemsize=itemsize)
        begun = Cost(bytes=2 * elements * itemsize)  # the weights, and a first guess made of them
        return one * (4 * self.iterations) + begun
