"""The cost of one Transformer block: projections, attention between them, feed-forward.

    2 n d² for each projection + 4 n² d for full attention + 4 n d f for the feed-forward

Biases, norms, activations, dropout and the reshapes between heads are left out.
"""

from dataclasses import dataclass
from typing import Final, final

from attncost.core.cost import Cost
from attncost.core.counts import Count, symbol
from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.cost.model.dense import Dense
from attncost.cost.model.grouped import Grouped
from attncost.kernels.interface import Kernel
from attncost.mechanisms.interface import Priced
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern

_DENSE: Final = Full()


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

    def mixer(self, pattern: Pattern = _DENSE) -> Grouped:
        """Return its attention, with a pattern."""
        return Grouped(
            d_model=self.d_model,
            heads=self.heads,
            kv_heads=self.kv_heads,
            head_dim=self.head_dim,
            pattern=pattern,
            fused=self.fused_qkv,
        )

    def feed(self) -> Dense | None:
        """Return its feed-forward, if it has one."""
        if self.hidden is None:
            return None
        return Dense(d_model=self.d_model, hidden=self.hidden, gated=self.gated)

    def dims(self, length: Count) -> Dims:
        """Return the sizes of the attention call on one sequence."""
        return self.mixer().dims(length)


def block_cost(
    attention: Pattern | Priced,
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
    mixer, feed = block.mixer(), block.feed()
    core = core_cost(attention, block, length=n, kernel=kernel)
    fed = feed.cost(n) if feed else Cost()
    return mixer.before(n) + core + mixer.after(n) + fed


def core_cost(
    attention: Pattern | Priced,
    block: BlockSizes,
    *,
    length: Count,
    kernel: Kernel | None = None,
) -> Cost:
    """Return the cost of what lies between the projections: scores, softmax, weighted sum."""
    if kernel is None or isinstance(attention, Priced):
        return block.mixer().core(length, length, attention)
    return kernel.cost(attention, block.dims(length))


def linear_cost(block: BlockSizes, *, length: Count) -> Cost:
    """Return the cost of all the rest, which grows with the length alone."""
    feed = block.feed()
    return block.mixer().linear(length) + (feed.cost(length) if feed else Cost())
