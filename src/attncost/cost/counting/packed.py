"""Attention of documents that lie side by side, as FlashAttention's operations are told of them.

    useful = heads * sum over documents of the pairs of n_i queries and m_i keys
    dense  = heads * documents * longest n * longest m: the same batch, padded

The last query of a document is its last key, unless `from_first` says otherwise. Tiles at the edge
of a window and on the diagonal are cut as each GPU likes, so what is executed is taken for what is
read.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final, final

from jaxtyping import Int
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from attncost.core.counts import below
from attncost.core.dims import Dims
from attncost.core.unseen import unseen
from attncost.cost.counting.apis.interface import AttentionCall, itemsize, learns

_UNKNOWN: Final = "where documents end is not known."


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Packed:
    """Where documents lie and what their queries read.

    Attributes:
        queries: Where the queries of each document begin, and where the last ones end.
        keys: The same of keys; those of queries if left out.
        used: How many keys of each document are read, if not all of them.
        longest: Queries and keys of the longest document.
        window: Keys before and after the query that it may read, -1 without a limit.
        from_first: Whether the first query of a document is its first key.
    """

    queries: Int[Tensor, "s"]
    keys: Int[Tensor, "s"] | None
    used: Int[Tensor, "_"] | None = None
    longest: tuple[int, int]
    window: tuple[int, int] = (-1, -1)
    from_first: bool = False

    def pairs(self, n: int, m: int) -> int:
        """Return the pairs of a document: up to the end of its window, less those before it."""
        (left, right), shift = self.window, (n - m) * self.from_first
        until = n * m if right < 0 else below(n, m, shift + 1 + right)
        return int(until - (0 if left < 0 else below(n, m, shift - left)))


def packed_call(q: Tensor, k: Tensor, v: Tensor, packed: Packed) -> AttentionCall:
    """Return the call that packed tensors make.

    Args:
        q: Queries of all documents, heads and features on the last two axes.
        k: Keys, which may lie in pages, on one axis more.
        v: Values.
        packed: Where documents lie.
    """
    heads, head_dim = q.shape[-2:]
    documents, (n, m) = len(packed.queries) - 1, packed.longest
    dims = Dims(
        batch=documents,
        heads=heads,
        kv_heads=k.shape[-2],
        length=n,
        kv_length=m,
        head_dim=head_dim,
        value_dim=v.shape[-1],
        itemsize=itemsize(q),
    )
    sizes = _sizes(packed)
    alike = {(n, m): documents} if sizes is None else Counter(sizes)
    pairs = heads * sum(packed.pairs(*size) * number for size, number in alike.items())
    numbers = q.numel() + k.numel() + v.numel() + q.numel() // head_dim * v.shape[-1]
    return AttentionCall(
        dims=dims,
        useful=pairs,
        executed=pairs,
        bytes=numbers * dims.itemsize,
        learns=(learns(q), learns(k), learns(v)),
        unknown=_UNKNOWN if sizes is None else None,
    )


def _sizes(packed: Packed) -> list[tuple[int, int]] | None:
    """Return queries and keys of each document; None if they cannot be looked at."""
    keys = packed.queries if packed.keys is None else packed.keys
    if any(x is not None and unseen(x) for x in (packed.queries, keys, packed.used)):
        return None
    # Whoever counts operations, or makes them fake, shall not meet ours.
    with _disable_current_modes():
        of_keys = keys.diff() if packed.used is None else packed.used
        return list(zip(packed.queries.diff().tolist(), of_keys.tolist(), strict=True))
