"""The cost of one Transformer block: projections, attention between them, feed-forward.

    2 n d² for each projection + 4 n² d for full attention + 4 n d f for the feed-forward

Biases, norms, activations, dropout and the reshapes between heads are left out.
"""

from dataclasses import dataclass
from typing import final

from attncost.core.cost import Cost
from attncost.core.counts import Count, symbol
from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.kernels.interface import Kernel, priced
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.interface import Pattern


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class BlockSizes:
    """The sizes of a block, as integers or symbols.

    Attributes:
        d_model: Features of a token between layers.
        heads: Query heads.
        kv_heads: Heads of keys and values; as many if left out.
        head_dim: Features of one head; `d_model / heads` if left out.
        hidden: Features inside the feed-forward; None for a layer of attention alone.
        gated: Whether the feed-forward has a gate (SwiGLU), a third matrix.
        fused_qkv: Whether one matrix makes queries, keys and values; the FLOPs are the same.
    """

    d_model: Count
    heads: Count
    kv_heads: Count = None
    head_dim: Count = None
    hidden: Count = None
    gated: bool = False
    fused_qkv: bool = False

    def __post_init__(self) -> None:
        d, h = self.d_model, self.heads
        if self.kv_heads is None:
            object.__setattr__(self, "kv_heads", h)
        if self.head_dim is None:
            numbers = isinstance(d, int) and isinstance(h, int)
            if numbers and (h < 1 or d % h):
                raise ShapeError(f"heads must divide d_model, got {h} heads for {d} features.")
            object.__setattr__(self, "head_dim", d // h if numbers else d / h)

    def dims(self, length: Count) -> Dims:
        """Return the sizes of the attention call on one sequence."""
        return Dims(
            heads=self.heads,
            kv_heads=self.kv_heads,
            length=length,
            head_dim=self.head_dim,
            d_model=self.d_model,
        )


def block_cost(
    attention: Pattern | Mechanism,
    block: BlockSizes,
    *,
    length: Count | None = None,
    kernel: Kernel | None = None,
) -> Cost:
    """Return the forward cost of a block on one sequence, step by step.

    Args:
        attention: The pattern, or the approximation, between the projections.
        block: The sizes.
        length: Tokens; the symbol `n` if left out.
        kernel: What computes a pattern, and so decides `executed`; if left out, the definition,
            which multiplies no pair in vain.
    """
    n = symbol("n") if length is None else length
    core = core_cost(attention, block, length=n, kernel=kernel)
    return _projections_in(block, n) + core + _projections_out(block, n)


def core_cost(
    attention: Pattern | Mechanism,
    block: BlockSizes,
    *,
    length: Count,
    kernel: Kernel | None = None,
) -> Cost:
    """Return the cost of what lies between the projections: scores, softmax, weighted sum."""
    dims = block.dims(length)
    if isinstance(attention, Mechanism):
        return attention.cost(dims)
    return kernel.cost(attention, dims) if kernel else priced(attention, dims)


def linear_cost(block: BlockSizes, *, length: Count) -> Cost:
    """Return the cost of all the rest, which grows with the length alone."""
    return _projections_in(block, length) + _projections_out(block, length)


def _projections_in(block: BlockSizes, n: Count) -> Cost:
    d = block.d_model
    queries, keys = (heads * block.head_dim for heads in (block.heads, block.kv_heads))
    if block.fused_qkv:
        return Cost.product(n, d, queries + 2 * keys).named("qkv projection")
    return (
        Cost.product(n, d, queries).named("q projection")
        + Cost.product(n, d, keys).named("k projection")
        + Cost.product(n, d, keys).named("v projection")
    )


def _projections_out(block: BlockSizes, n: Count) -> Cost:
    d, f = block.d_model, block.hidden
    cost = Cost.product(n, block.heads * block.head_dim, d).named("output projection")
    if f is None:
        return cost
    if block.gated:
        cost = cost + Cost.product(n, d, f).named("feed-forward gate")
    return (
        cost
        + Cost.product(n, d, f).named("feed-forward up")
        + Cost.product(n, f, d).named("feed-forward down")
    )
