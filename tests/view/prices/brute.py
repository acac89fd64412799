"""Calls of attention, and their statistics written out from all weights, in float64."""

import torch
from tests.oracle import definition

from attncost.view.seen import Seen
from attncost.view.statistics.gauges import Gauges
from attncost.view.statistics.results import Statistics

N = 300
USUAL = Gauges()


def seen(pattern, *, n=N, m=None, heads=(4, 2), batch=1, spread=1.0, cross=False, **wishes):
    """Return a call on random numbers in float64; a smaller spread makes flatter maps."""
    generator, m = torch.Generator().manual_seed(0), n if m is None else m

    def made(h, length):
        return torch.randn(batch, h, length, 8, dtype=torch.float64, generator=generator)

    return Seen(
        name="layer",
        q=spread * made(heads[0], n),
        k=made(heads[1], m),
        v=made(heads[1], m),
        pattern=pattern,
        wishes=wishes,
        heads=tuple(range(10, 10 + heads[0])),
        cross=cross,
    )


def apart(n, m):
    """Return how far each key stands behind each query."""
    return torch.arange(m - n, m)[:, None] - torch.arange(m)


def reads(pattern, n, m):
    """Return what a window, or one beside the first tokens, reads, by their definition."""
    behind, tokens = apart(n, m), getattr(pattern, "tokens", 0)
    near = (behind >= -pattern.ahead) & (behind < pattern.width - pattern.ahead)
    first = torch.arange(m) < tokens
    hub = (torch.arange(m - n, m) >= 0) & (torch.arange(m - n, m) < tokens)
    return near | first | hub[:, None]


def outputs(call, mask=None):
    """Return what a call returns, where a mask is given only within it."""
    n, m = call.q.shape[2], call.k.shape[2]
    own = call.pattern.mask(n, m)
    read = own if mask is None else own & mask
    return definition(call.q.double(), call.k.double(), call.v.double(), read, **call.wishes)[0]


def weights(call):
    """Return all weights: what attention makes of values each of which is a number of its own."""
    n, m = call.q.shape[2], call.k.shape[2]
    one_each = torch.eye(m, dtype=torch.float64).expand(*call.k.shape[:2], m, m)
    q, k = call.q.double(), call.k.double()
    return definition(q, k, one_each, call.pattern.mask(n, m), **call.wishes)[0]


def found_in(call, counted=None, gauges=USUAL):
    """Return the statistics of a call that prices look at; the others are empty."""
    every, (n, m) = weights(call), (call.q.shape[2], call.k.shape[2])
    if counted is None:
        counted = torch.ones(len(every), n, dtype=torch.bool)
    shares = counted / counted.sum(1, keepdim=True).clamp(min=1)
    mean = every * shares[:, None, :, None]
    far = apart(n, m).abs()
    near = torch.zeros(*every.shape[:2], max(n, m), dtype=torch.float64)
    near.index_add_(2, far.flatten(), mean.flatten(2))
    nothing = torch.zeros(every.shape[:3], dtype=torch.float64)
    rows = dict.fromkeys(
        ("lse", "entropy", "largest", "logit", "distance", "on_self", "on_previous"), nothing
    )
    rows |= dict.fromkeys(("on_padded", "negligible"), nothing)
    columns = dict.fromkeys(("quantiles", "within"), nothing[..., None])
    return Statistics(
        gauges=gauges,
        **rows,
        **columns,
        on_first=every[..., : gauges.first].sum(-1),
        counted=counted,
        received=mean.sum(2),
        map=mean,
        by_distance=near,
        output=None,
    )


def concentrated(call, distance, counted=None):
    """Return the statistics that a call would have if all mass lay within a distance, evenly."""
    found = found_in(call, counted)
    found.by_distance.zero_()
    found.by_distance[..., : distance + 1] = 1 / (distance + 1)
    found.on_first.zero_()
    return found
