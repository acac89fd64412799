"""Performer: random features whose products are, on average, the exponentials of the scores.

    φ(q) (φ(k)ᵀ v) / (φ(q) Σ φ(k)),  φ(x) = exp(ω x - |x|² / 2)         time  O((n + m) r (d + e))
    ω: r random rows, for all heads

Linear in the length; more features bring it nearer to softmax attention. Use it when an encoder
reads very long texts, or to estimate the softmax of a trained model. Not when few keys have most of
the weight: its variance grows with the exponential of the scores, so sharp attention needs more
features than it saves. A causal one reads in chunks, which is not priced here: add the two
projections to the price of `linear:causal=1`.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, final

from attncost.core.cost import Cost
from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.mechanisms.interface import Priced
from attncost.mechanisms.products import product

_NORM: Final = 2  # of a feature that comes in: its square, and their sum
# Of a random feature: half the norm and the greatest are found and subtracted, then an exponential.
_FEATURE: Final = 4


@final
@dataclass(frozen=True, slots=True)
class Performer(Priced):
    """Attention by positive random features (FAVOR+).

    Attributes:
        features: Random projections of a query or key.
    """

    source: ClassVar[str] = "Choromanski et al. 2020, arXiv:2009.14794"

    features: int = 256

    def __post_init__(self) -> None:
        if self.features < 1:
            raise ShapeError(
                f"features must be at least 1 (their products are scores), got {self.features}."
            )

    @classmethod
    def examples(cls) -> tuple["Performer", ...]:
        """Return the poorest and a usual one."""
        return cls(1), cls(16)

    def cost(self, dims: Dims) -> Cost:
        """Charge the features of queries and keys, the sums over keys, and what queries read."""
        queries = dims.batch * dims.heads * dims.length
        states = dims.batch * dims.kv_heads
        keys = states * dims.kv_length
        d, e, r = dims.head_dim, dims.value_dim, self.features
        times = partial(product, itemsize=dims.itemsize)
        asked = times(queries * r, d, operands=queries * d + r * d)
        told = times(keys * r, d, operands=keys * d + r * d)
        state = times(states * r * e, dims.kv_length, operands=keys * (r + e), made=keys * r)
        weight = times(queries, r, operands=queries * r + states * r, made=queries * r + states * r)
        read = times(queries * e, r, operands=queries * r + states * r * e)
        exponentials = (queries + keys) * (_NORM * d + _FEATURE * r)
        return (
            asked.named("features of queries")
            + told.named("features of keys")
            + Cost(elementwise=exponentials).named("exponentials")
            + state.named("keys times values")
            + Cost(elementwise=keys * r).named("sum of keys")
            + weight.named("sum of weights")
            + read.named("weighted sum")
            + Cost(elementwise=queries * e).named("division")
        )
