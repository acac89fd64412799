"""What linear attention multiplies, chunk by chunk; `prefixes` says how it computes.

useful = 2 d e (g m + h n)          time  O((n + m) (c + d) d) in chunks of c
"""

from dataclasses import dataclass
from typing import final

from attncost.core.cost import Cost
from attncost.core.counts import Count, ceil_div, larger, smaller
from attncost.core.dims import Dims
from attncost.mechanisms.feature_maps import FeatureMap
from attncost.mechanisms.prefixes import CHUNK
from attncost.patterns.causal import Causal


def linear_cost(dims: Dims, phi: FeatureMap, *, causal: bool) -> Cost:
    """Return the cost of `Linear.attend`, step by step; copies of transposed tensors left out."""
    n, m, h, g, d, e = _sizes(dims)
    cut = _causal(n, m) if causal else _whole(n, m)
    state = d * e
    useful = 2 * state * (g * m + h * cut.rows)
    if causal:
        useful = smaller(useful, 2 * h * (d + e) * Causal().pairs(n, m))
    executed = 2 * h * cut.pairs * (d + e) + 2 * state * (h * cut.read + g * cut.written)
    weighing = (3 * g + 2 * h) * cut.pairs + 2 * g * (cut.written * d + cut.rescaled * (state + d))
    weighing += 2 * h * cut.read * (d + (e if causal else 0))
    return dims.batch * (
        Cost(elementwise=phi.operations * d * (h * cut.rows + g * m)).named("features")
        + Cost(useful=useful, executed=executed, dense=useful, elementwise=weighing).named(
            "sums over keys"
        )
        + Cost(elementwise=h * cut.rows * e).named("division")
        + Cost(bytes=_moved(dims, cut))
    )


def _sizes(dims: Dims) -> tuple[Count, ...]:
    heads = (dims.heads, dims.kv_heads)
    return (dims.length, dims.kv_length, *heads, dims.head_dim, dims.value_dim)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class _Cut:
    """How a call is cut.

    Attributes:
        rows: Queries that read something.
        pairs: Of a query and a key in one chunk, those after the query among them.
        read: Rows that read a state.
        reads: Chunks of them.
        fresh: States among those that are read, beside the first one written.
        written: Keys written into a state.
        rescaled: Chunks of them after the first.
        own: Keys that are read in their own chunk.
    """

    rows: Count
    pairs: Count = 0
    read: Count
    reads: Count
    fresh: Count
    written: Count
    rescaled: Count
    own: Count = 0


def _whole(n: Count, m: Count) -> _Cut:
    """Write all keys, then read the last state for each chunk of queries."""
    rows = n * smaller(1, m)
    reads, rescaled = ceil_div(rows, CHUNK), larger(0, ceil_div(m, CHUNK) - 1)
    return _Cut(
        rows=rows,
        read=rows,
        reads=reads,
        fresh=smaller(smaller(1, reads), rescaled),
        written=m,
        rescaled=rescaled,
    )


def _causal(n: Count, m: Count) -> _Cut:
    """Write the keys before all queries; let each chunk read the state before it, and its own."""
    rows = smaller(n, m)
    before = m - rows
    # Chunks that another one follows, whose keys are therefore written.
    followed = larger(0, ceil_div(rows, CHUNK) - 1)
    early, some = ceil_div(before, CHUNK), smaller(1, before)
    reads = followed + smaller(some, rows)
    return _Cut(
        rows=rows,
        pairs=followed * CHUNK**2 + (rows - followed * CHUNK) ** 2,
        read=larger(0, rows - CHUNK * (1 - some)),
        reads=reads,
        fresh=reads - smaller(smaller(1, reads), larger(0, 2 - early)),
        written=before + CHUNK * followed,
        rescaled=larger(0, early + followed - 1),
        own=rows,
    )


def _moved(dims: Dims, cut: _Cut) -> Count:
    """Return the bytes of one sequence, as `Work` counts them."""
    h, g, d, e = dims.heads, dims.kv_heads, dims.head_dim, dims.value_dim
    # Features of queries are made for all rows, and multiplied with those of their own chunk.
    own = (h * (cut.rows + cut.own) + 2 * g * cut.own) * d + 3 * h * cut.pairs
    own += (h + g) * cut.own * e
    written = cut.written * g * (2 * d + e) + g * d * e * (cut.rescaled + smaller(1, cut.written))
    read = cut.read * h * (d + e) + g * d * e * (cut.reads + cut.fresh)
    # Features are float32 or wider, and values of half types are copied to be so.
    wide, half = larger(4, dims.itemsize), smaller(1, larger(0, 4 - dims.itemsize))
    return (own + written + read + half * dims.kv_length * g * e) * wide
