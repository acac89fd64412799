"""From which key to which the document of each query goes, without what `key_mask` hides.

What lies outside is not even multiplied, so that packed documents and padding cost little; and the
first keys of a document are what may be its sink.
"""

from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from attncost.core.options import Options


class Extents(NamedTuple):
    """First and last key of each query; the last one is -1 and the first `m` if there is none."""

    first: Int[Tensor, "b n"]
    last: Int[Tensor, "b n"]

    def keys(self, sequences: slice, queries: range) -> range:
        """Return all keys between those of some queries."""
        rows = slice(queries.start, queries.stop)
        first, last = self.first[sequences, rows].amin(), self.last[sequences, rows].amax()
        return range(int(first), int(last) + 1)


def extents(options: Options, n: int, m: int) -> Extents | None:
    """Return them, or None if all queries may read all keys, as far as these options go."""
    mask, segments = options.key_mask, options.segments
    found = next((x for x in (mask, segments) if x is not None), None)
    if found is None:
        return None
    key = torch.arange(m, device=found.device).expand(len(found), m)
    first = key if mask is None else torch.where(mask, key, m)
    last = key if mask is None else torch.where(mask, key, -1)
    if segments is None:
        # One document.
        numbers = key.new_zeros(len(found), max(n, m))
    else:
        numbers = segments.unique(return_inverse=True)[1]
    documents = int(numbers.max()) + 1 if numbers.numel() else 1
    of_query, of_key = numbers[:, numbers.shape[1] - n :], numbers[:, numbers.shape[1] - m :]
    ends = (
        key.new_full((len(found), documents), start).scatter_reduce_(1, of_key, keys, how)
        for start, keys, how in ((m, first, "amin"), (-1, last, "amax"))
    )
    return Extents(*(end.gather(1, of_query) for end in ends))
