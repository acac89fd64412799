"""Gated linear attention (GLA): a state of d x e numbers that forgets, feature by feature.

    S_t = diag(a_t) S_{t-1} + k_tᵀ v_t,  o_t = q_t S_t             time  O(n d e + n c (d + e))

Causal. `useful` is the recurrence; a prompt is read in chunks of c tokens, which also multiplies
the pairs inside of each: that is `executed`, the filled-up last chunk included. Use it when long
texts are written token by token: the state does not grow. Not when a token from far back must be
found again exactly, for d x e numbers hold few. What makes the gates a is left out, as is the norm
of the output: both belong to the projections around. Kernels that keep small gates exact compute a
part of the pairs inside of chunks without matrix products; here all are products.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, final

from attncost.core.cost import Cost
from attncost.core.counts import ceil_div
from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.mechanisms.interface import Priced
from attncost.mechanisms.products import product


@final
@dataclass(frozen=True, slots=True)
class GatedLinear(Priced):
    """Linear attention with gates of its own data, read in chunks.

    Attributes:
        chunk: Tokens that are read at once.
    """

    source: ClassVar[str] = "Yang et al. 2023, arXiv:2312.06635"

    chunk: int = 64

    def __post_init__(self) -> None:
        if self.chunk < 1:
            raise ShapeError(f"chunk must be at least 1 (a token reads itself), got {self.chunk}.")

    @classmethod
    def examples(cls) -> tuple["GatedLinear", ...]:
        """Return the recurrence itself, and one whose last chunk is filled up."""
        return cls(1), cls(16)

    def cost(self, dims: Dims) -> Cost:
        """Charge the last `length` tokens: what they write to state, and read of it."""
        b, h, g, c = dims.batch, dims.heads, dims.kv_heads, self.chunk
        d, e, chunks = dims.head_dim, dims.value_dim, ceil_div(dims.length, self.chunk)
        asked, told = b * h * chunks * c, b * g * chunks * c
        states = b * g * chunks * d * e
        times = partial(product, itemsize=dims.itemsize)
        write = times(states, c, operands=told * (d + e), made=told * d)
        before = times(asked * e, d, operands=asked * d + states, made=asked * d + states)
        pairs = times(asked * c, d, operands=(asked + told) * d, made=told * d)
        inside = times(asked * e, c, operands=asked * c + told * e, made=asked * c)
        one = 2 * b * dims.length * d * e
        # A running sum of gates and its exponential; keys up to the end of a chunk, and from its
        # beginning; queries; the triangle; a state that decays and grows; both sums of an output.
        gates = b * dims.length * (4 * g * d + h * (d + c + e)) + 2 * states
        return (
            Cost(elementwise=gates).named("gates")
            + replace(write, useful=g * one, dense=g * one).named("write to state")
            + replace(before + pairs + inside, useful=h * one, dense=h * one).named(
                "read from state"
            )
        )
