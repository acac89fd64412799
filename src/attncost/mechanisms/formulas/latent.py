"""Multi-head latent attention (MLA): keys and values of all heads are made of one small vector.

    k = [c W_k, k_r], v = c W_v, q = [q_c, q_r]:  causal softmax(q kᵀ / √(d + p)) v
    c: r features of a token, k_r: p features with positions, for all heads
                                                     time  O(m r h (d + e) + n m h (d + p + e))

Use it when a cache is what does not fit: a decoder keeps r + p numbers of a token, in place of
g (d + e). Not for saving FLOPs: it takes more than full attention with a causal mask at any length.
The product that makes keys and values is charged here, and positions are features more of each
query and key. What makes c, k_r and the queries is not: the projections around stand for it. A
token that is written alone is cheaper by absorbed matrices, which `attncost plan` of a DeepSeek
model prices.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, final

from attncost.core.cost import Cost
from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.kernels.interface import Work, priced, traffic
from attncost.mechanisms.interface import Priced
from attncost.mechanisms.products import product
from attncost.patterns.causal import Causal


@final
@dataclass(frozen=True, slots=True)
class Latent(Priced):
    """Attention from a latent vector, as DeepSeek-V2 reads a prompt.

    Attributes:
        rank: Features of the vector that keys and values are made of.
        rope: Features with positions, which a query and a key have besides; 0 for none.
    """

    source: ClassVar[str] = "DeepSeek-AI 2024, arXiv:2405.04434, section 2.1"

    rank: int = 512
    rope: int = 64

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ShapeError(f"rank must be at least 1 (keys are made of it), got {self.rank}.")
        if self.rope < 0:
            raise ShapeError(f"rope must be at least 0 (features with positions), got {self.rope}.")

    @classmethod
    def examples(cls) -> tuple["Latent", ...]:
        """Return the smallest and one with positions."""
        return cls(1, 0), cls(16, 4)

    def cost(self, dims: Dims) -> Cost:
        """Charge the product that makes keys and values, then all pairs, as fused calls do."""
        h, n, m, e = dims.heads, dims.length, dims.kv_length, dims.value_dim
        d = dims.head_dim + self.rope
        wide = replace(dims, kv_heads=h, head_dim=d)
        expanded = h * (dims.head_dim + e)
        made = product(
            dims.batch * m * expanded,
            self.rank,
            operands=dims.batch * m * self.rank + self.rank * expanded,
            itemsize=dims.itemsize,
        )
        joined = dims.batch * h * m * d * dims.itemsize
        attended = priced(Causal(), wide, Work(n * m, d, e, traffic(wide) + joined))
        return made.named("k and v projection") + attended
