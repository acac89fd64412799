"""From sums to statistics.

    entropy = share (total gap - surprise),  share = exp(-gap),  gap = log(total)

where a sink adds to `gap` alone: a sum of two numbers that are not negative, so nothing is lost to
cancellation, however large the scores are.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncost.view.statistics.results import Statistics
from attncost.view.statistics.step import POWER
from attncost.view.statistics.subject import Subject
from attncost.view.statistics.sums import OF_QUERIES, Sums, pooled


def finished(subject: Subject, sums: Sums, dtype: torch.dtype) -> Statistics:
    """Return the statistics.

    Args:
        subject: The call.
        sums: Its sums.
        dtype: Of the output.
    """
    b, h, n, _ = subject.sizes
    of = dict(zip(OF_QUERIES, sums.of_queries.unbind(-1), strict=True))
    top = of["top"]
    log, gap, share = _shares(subject, top, of["total"])
    unread, any_lost = of["total"] == 0, bool((sums.spoilt | sums.lost).any())
    any_unread = bool(unread.any())

    def whole(x: Tensor, nothing: float = 0.0, lost: Tensor = sums.spoilt) -> Tensor:
        """Say what there is in rows that read nothing, or what is not finite."""
        if any_unread:
            x = x.masked_fill(_like(unread, x), nothing)
        if any_lost:
            x = x.masked_fill(_like(lost, x), math.nan)
        # Whoever gets a tensor of inference mode could not use it under autograd.
        x = x.clone() if x.is_inference() else x
        return x.view(b, h, *x.shape[1:])

    output = None
    if sums.output is not None:
        lost = sums.spoilt | sums.lost
        output = whole(sums.output * share[..., None], lost=lost).to(dtype)
    counts = ~unread.view(b, h, n)
    if subject.counted is not None:
        counts &= subject.counted[:, None]
    number, in_rows = _numbers(counts, sums.map.shape[1])
    return Statistics(
        gauges=subject.gauges,
        lse=whole(top + log, -math.inf),
        entropy=whole(share * (of["total"] * gap - of["surprise"] / POWER)),
        largest=whole(share),
        logit=whole(top, -math.inf),
        distance=whole(of["distance"] / of["total"]),
        quantiles=whole(sums.quantiles),
        within=whole(sums.within * share[..., None]),
        on_first=whole(of["on_first"] * share),
        on_self=whole(sums.near[..., 1] * share),
        on_previous=whole(sums.near[..., 0] * share),
        on_padded=whole(of["on_padded"] * share),
        negligible=whole(of["negligible"] * share),
        counted=counts.any(1),
        received=sums.received.view(b, h, -1) / number,
        map=sums.map.unflatten(0, (b, h)) / in_rows,
        by_distance=sums.by_distance.view(b, h, -1) / number,
        output=output,
    )


def _shares(subject: Subject, top: Tensor, total: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the logarithm of each sum, the same with the sink, and the largest weight."""
    log, sink = total.log(), subject.options.sink
    if sink is None:
        return log, log, total.reciprocal()
    sinks = sink.to(top.dtype).repeat(subject.sizes[0])[:, None] - top
    return log, torch.logaddexp(log, sinks), (total + sinks.exp()).reciprocal()


def _numbers(counts: Bool[Tensor, "b h n"], rows: int) -> tuple[Tensor, Tensor]:
    """Return how many queries count, and how many do in each row of the map; at least 1."""
    n = counts.shape[2]
    size = pooled(n, rows)
    padded = torch.nn.functional.pad(counts, (0, rows * size - n))
    in_rows = padded.unflatten(-1, (rows, size)).sum(-1, keepdim=True)
    return counts.sum(-1, keepdim=True).clamp_(min=1), in_rows.clamp_(min=1)


def _like(rows: Bool[Tensor, "lanes n"], x: Float[Tensor, "lanes n *p"]) -> Tensor:
    return rows.view(*rows.shape, *[1] * (x.dim() - 2))
