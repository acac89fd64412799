"""What each query of a model may read, as its host says it: a rule in place of a dense mask."""

from typing import Final, NoReturn, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask

from attncost.core.errors import UnsupportedOption
from attncost.patterns.interface import Pattern

_CHANGED: Final = (
    "this model cuts or changes its attention mask itself, so attncost cannot serve it: "
    "use attn_implementation='eager' or 'sdpa'."
)


@final
class Reads(BlockMask):
    """Which keys the queries of one call may read; a model hands it from layer to layer as a mask.

    It is a `BlockMask` because that is the one kind of mask besides a tensor that the models of
    transformers pass on untouched. It holds no n x m numbers unless the host's rule is not
    understood.

    Attributes:
        sizes: Sequences, queries, keys.
        rule: By position; `Full()` if `dense` says it all.
        key_mask: (b, m), True where a key may be read; None if all may.
        segments: (b, n), tokens with different numbers never meet.
        dense: (b, 1, n, m), True where a pair is read, or what is added to its score; on top of
            the rest.
        first: Position of the first query, and of the first key.
        held: Keys that the host holds; those beyond `m` are the unfilled end of a static cache.
    """

    def __init__(
        self,
        sizes: tuple[int, int, int],
        rule: Pattern,
        *,
        key_mask: Bool[Tensor, "b m"] | None = None,
        segments: Int[Tensor, "b n"] | None = None,
        dense: Bool[Tensor, "#b _ n m"] | Float[Tensor, "#b _ n m"] | None = None,
        first: tuple[int | Tensor, int] = (0, 0),
        held: int | None = None,
    ) -> None:
        # What BlockMask holds is of no use here, so its constructor is left out.
        self.sizes, self.rule, self.first = sizes, rule, first
        self.key_mask, self.segments, self.dense = key_mask, segments, dense
        self.held = sizes[2] if held is None else held

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the mask that it stands for."""
        batch, n, m = self.sizes
        return batch, 1, n, m

    @property
    def ndim(self) -> int:
        """4, as that of any complete mask; GPT-2 asks for it."""
        return 4

    @property
    def aligned(self) -> bool:
        """Whether the last query stands at the last key."""
        (_, n, m), (query, key) = self.sizes, self.first
        return isinstance(query, int) and query + n == key + m

    def mask(self) -> Bool[Tensor, "b 1 n m"]:
        """Write it out, n x m."""
        query, key = self.positions(torch.device("cpu") if self.device is None else self.device)
        reads = self.rule.allowed(query[:, None], key)[None, None]
        if self.key_mask is not None:
            reads = reads & self.key_mask[:, None, None, :]
        if self.segments is not None:
            reads = reads & (self.segments[:, None, :, None] == self.segments[:, None, None, :])
        if self.dense is not None:
            shown = self.dense if self.dense.dtype == torch.bool else ~self.dense.isneginf()
            reads = reads & shown
        return reads.expand(self.shape)

    def positions(self, device: torch.device) -> tuple[Int[Tensor, "n"], Int[Tensor, "m"]]:
        """Return where the queries and the keys stand."""
        (_, n, m), (query, key) = self.sizes, self.first
        return torch.arange(n, device=device) + query, torch.arange(m, device=device) + key

    @property
    def device(self) -> torch.device | None:
        """Where its tensors are, if it has any."""
        tensors = [x for x in (self.key_mask, self.segments, self.dense) if x is not None]
        return tensors[0].device if tensors else None

    def to(self, device: torch.device | str) -> "Reads":
        """Return the same on another device."""
        moved = {
            name: None if tensor is None else tensor.to(device)
            for name, tensor in (
                ("key_mask", self.key_mask),
                ("segments", self.segments),
                ("dense", self.dense),
            )
        }
        return Reads(self.sizes, self.rule, first=self.first, held=self.held, **moved)

    def __getitem__(self, index: object) -> NoReturn:
        raise UnsupportedOption(_CHANGED)

    @classmethod
    def __torch_function__(cls, *_: object) -> NoReturn:
        """Refuse arithmetic, which would need the numbers of a dense mask."""
        raise UnsupportedOption(_CHANGED)

    def __repr__(self) -> str:
        batch, n, m = self.sizes
        held = [
            name for name in ("key_mask", "segments", "dense") if getattr(self, name) is not None
        ]
        return " and ".join([f"Reads({batch} x {n} x {m}, {self.rule}", *held]) + ")"

    __str__ = __repr__
