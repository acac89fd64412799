"""All statistics from their definitions, out of n x m weights in float64."""

import torch
from tests.oracle import definition

OF_QUERIES = (
    "lse",
    "entropy",
    "largest",
    "logit",
    "distance",
    "within",
    "on_first",
    "on_self",
    "on_previous",
    "on_padded",
)
OF_HEADS = ("received", "map", "by_distance")


def weights_of(q, k, mask, **options):
    """Return weights and log-sum-exp; every value names its key, so what comes out is weights."""
    m = k.shape[2]
    names = torch.eye(m, dtype=torch.float64).expand(*k.shape[:2], m, m)
    options = {
        name: x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x
        for name, x in options.items()
    }
    return definition(q.double(), k.double(), names, mask, **options)


def values_of(weights, v):
    """Average values in float64."""
    return weights @ v.double().repeat_interleave(weights.shape[1] // v.shape[1], 1)


def distances(n, m):
    """Return how far each key is from each query."""
    return (torch.arange(n)[:, None] + (m - n) - torch.arange(m)).abs()


def statistics_of(q, k, mask, *, gauges, query_mask=None, padded=None, **options):
    """Return what `statistics` should find, by name, beside the weights themselves."""
    n, m = q.shape[2], k.shape[2]
    weights, lse = weights_of(q, k, mask, **options)
    query, key = torch.arange(n)[:, None] + (m - n), torch.arange(m)
    far, mass, reads = distances(n, m), weights.sum(-1), lse > -torch.inf
    counts = reads if query_mask is None else reads & query_mask[:, None]
    sink = options.get("sink")
    whole = lse if sink is None else torch.logaddexp(lse, sink.double()[:, None])
    largest = weights.amax(-1) if m else mass

    def on(marks):
        return (weights * marks).sum(-1)

    found = {
        "lse": lse,
        "entropy": torch.special.entr(weights).sum(-1),
        "largest": largest,
        "logit": torch.where(reads, largest.log() + whole, -torch.inf),
        "distance": on(far) / torch.where(reads, mass, 1.0),
        "within": torch.stack([on(far < width) for width in gauges.widths], -1),
        "on_first": on(_first_keys(n, m, gauges.first, options)),
        "on_self": on(query == key),
        "on_previous": on(query - 1 == key),
        "on_padded": on(0 if padded is None else padded[:, None, None]),
        "counted": counts.any(1),
        "weights": weights,
    }
    kept, number = weights * counts[..., None], counts.sum(-1, keepdim=True).clamp(min=1)
    found["received"] = kept.sum(2) / number
    by = torch.zeros(*kept.shape[:2], max(n, m), dtype=torch.float64)
    by.index_add_(2, far.flatten(), kept.flatten(2))
    found["by_distance"] = by / number
    rows, columns = (_in_blocks(size, gauges.map_size) for size in (n, m))
    in_rows = (counts.double() @ rows).clamp(min=1)
    found["map"] = rows.mT @ kept @ columns / in_rows[..., None]
    return found


def _first_keys(n, m, first, options):
    """Mark the first keys of each query's document that are not hidden."""
    key_mask, segments = options.get("key_mask"), options.get("segments")
    seen = torch.ones(1, n, m, dtype=torch.bool)
    if key_mask is not None:
        seen = seen & key_mask[:, None]
    if segments is not None:
        of_query, of_key = (
            segments[:, segments.shape[1] - n :],
            segments[:, segments.shape[1] - m :],
        )
        seen = seen & (of_query[..., None] == of_key[:, None])
    start = seen.int().argmax(-1, keepdim=True) if m else torch.zeros(1, n, 1)
    key = torch.arange(m)
    return ((start <= key) & (key < start + first))[:, None]


def _in_blocks(size, most):
    """Mark which block of equal size each of them is in."""
    each = max(1, -(-size // most))
    number = torch.arange(size) // each
    return (number[:, None] == torch.arange(-(-size // each))).double()
