"""Numbers of whole heads, out of those of their queries.

    effective rank = exp(entropy of the singular values, divided by their sum)

of the pooled map, Roy and Vetterli 2007, "The effective rank: a measure of effective
dimensionality": 1 if all queries read alike, the number of its rows if each reads its own keys.
"""

from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attncost.core.errors import ShapeError
from attncost.core.notebook import as_html
from attncost.view.statistics.results import Statistics

# The share of mass by which a head's reach is told, unless somebody wishes another.
MASS: Final = 0.95
# Sums of n float32 shares are known no better.
_ROUNDING: Final = 1e-6


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class HeadSummaries:
    """Means over the queries that count; 0 for a head of which none does.

    Attributes:
        entropy: In nats.
        largest: Largest weight.
        distance: Mean distance.
        on_first: Mass on the first keys.
        on_self: Mass on the query's own token.
        on_previous: Mass on the token before it.
        on_padded: Mass on padding.
        negligible: Mass on keys of negligible weight.
        within: Mass within widths.
        effective_rank: Of the pooled map.
    """

    _repr_html_ = as_html

    entropy: Float[Tensor, "b h"]
    largest: Float[Tensor, "b h"]
    distance: Float[Tensor, "b h"]
    on_first: Float[Tensor, "b h"]
    on_self: Float[Tensor, "b h"]
    on_previous: Float[Tensor, "b h"]
    on_padded: Float[Tensor, "b h"]
    negligible: Float[Tensor, "b h"]
    within: Float[Tensor, "b h w"]
    effective_rank: Float[Tensor, "b h"]


def head_summaries(found: Statistics) -> HeadSummaries:
    """Return what each head does on average.

    >>> import torch
    >>> import attncost as ac
    >>> q = k = torch.zeros(1, 1, 4, 8)
    >>> head_summaries(ac.statistics(q, k, pattern=ac.Causal())).distance
    tensor([[0.7500]])
    """
    # Queries that read nothing, or what is not finite, do not count in a head.
    counts = found.counted[:, None] & found.lse.isfinite()
    number = counts.sum(-1).clamp(min=1)

    def mean(x: Tensor) -> Tensor:
        rows = counts if x.dim() == 3 else counts[..., None]
        return x.masked_fill(~rows, 0).sum(2) / (number if x.dim() == 3 else number[..., None])

    return HeadSummaries(
        entropy=mean(found.entropy),
        largest=mean(found.largest),
        distance=mean(found.distance),
        on_first=mean(found.on_first),
        on_self=mean(found.on_self),
        on_previous=mean(found.on_previous),
        on_padded=mean(found.on_padded),
        negligible=mean(found.negligible),
        within=mean(found.within),
        effective_rank=_effective_rank(found.map),
    )


def reach(found: Statistics, mass: float = MASS) -> Int[Tensor, "b h"]:
    """Return the smallest distance within which a share of what queries read lies, on average.

    >>> import torch
    >>> import attncost as ac
    >>> q = k = torch.zeros(1, 1, 4, 8)
    >>> reach(ac.statistics(q, k, pattern=ac.Causal())).item()
    3

    Args:
        found: The statistics.
        mass: The share; with a learned sink, of what it leaves.

    Raises:
        ShapeError: If it is no share.
    """
    check_mass(mass)
    return nearest(found.by_distance, mass * found.by_distance.sum(-1, dtype=torch.float64))


def nearest(
    by_distance: Float[Tensor, "*heads d"], wanted: Float[Tensor, "*heads"]
) -> Int[Tensor, "*heads"]:
    """Return the smallest distance within which the mass wanted lies; 0 if there is no distance.

    Args:
        by_distance: Mass at each distance from 0.
        wanted: The mass, at most all of it.
    """
    until = by_distance.double().cumsum(-1)
    return (until < wanted[..., None] - _ROUNDING).sum(-1).clamp(max=max(until.shape[-1] - 1, 0))


def check_mass(mass: float) -> None:
    """Refuse what is no share.

    Raises:
        ShapeError: If it is none.
    """
    if not 0 < mass <= 1:
        raise ShapeError(f"mass must lie in (0, 1], such as {MASS}, got {mass}.")


def _effective_rank(maps: Float[Tensor, "b h r c"]) -> Float[Tensor, "b h"]:
    """Return how many directions a map has; 0 for one of nothing."""
    if not maps.numel():
        return maps.new_zeros(maps.shape[:2])
    values = torch.linalg.svdvals(maps.double())
    total = values.sum(-1, keepdim=True)
    shares = values / total.clamp(min=torch.finfo(total.dtype).tiny)
    rank: Tensor = torch.special.entr(shares).sum(-1).exp()
    return rank.masked_fill(total[..., 0] == 0, 0).to(maps.dtype)
