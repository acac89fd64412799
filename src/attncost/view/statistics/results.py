"""What `statistics` finds: of each query, of each key, of each head."""

from dataclasses import dataclass
from typing import final

from jaxtyping import Bool, Float
from torch import Tensor

from attncost.core.notebook import as_html
from attncost.view.statistics.gauges import Gauges


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Statistics:
    """How attention weights are spread; masses are sums of weights, from 0 to 1.

    A query that reads nothing has 0 everywhere and -inf as `lse` and `logit`; one that reads a
    score that is not finite has NaN. Distances are tokens between the positions of query and key,
    the last query standing at the last key. With a learned sink, weights sum to less than 1, and
    entropy is the sum of -w ln w over keys; distances are of what is read, divided by its mass.

    Attributes:
        gauges: The dials.
        lse: Log-sum-exp of each row of scores, a learned sink left out.
        entropy: Of the weights of each query, in nats.
        largest: Largest weight of each query.
        logit: Largest score of each query, after soft-capping and bias.
        distance: Mean distance of what a query reads.
        quantiles: Smallest distance within which a share `gauges.quantiles` lies.
        within: Mass on keys within `gauges.widths`.
        on_first: Mass on the `gauges.first` first keys of the query's own document, from the first
            that `key_mask` does not hide.
        on_self: Mass on the query's own token.
        on_previous: Mass on the token before it.
        on_padded: Mass on keys that the caller says are padding.
        negligible: Mass on keys each of whose weights is below `gauges.negligible`.
        counted: Which queries are counted in what follows: those of `query_mask` that read
            something; each head leaves out its own rows that read nothing or are NaN.
        received: Of each key, the mean mass that counted queries give it.
        map: Pooled: for blocks of counted queries, the mean mass on blocks of keys; each row sums
            to 1, or to 0 if nobody there counts. Blocks of `r` rows hold ceil(n / r) queries, and
            the last one what is left.
        by_distance: Mean mass of counted queries at each distance from 0.
        output: What attention returns; None if there were no values.
    """

    _repr_html_ = as_html

    gauges: Gauges
    lse: Float[Tensor, "b h n"]
    entropy: Float[Tensor, "b h n"]
    largest: Float[Tensor, "b h n"]
    logit: Float[Tensor, "b h n"]
    distance: Float[Tensor, "b h n"]
    quantiles: Float[Tensor, "b h n p"]
    within: Float[Tensor, "b h n w"]
    on_first: Float[Tensor, "b h n"]
    on_self: Float[Tensor, "b h n"]
    on_previous: Float[Tensor, "b h n"]
    on_padded: Float[Tensor, "b h n"]
    negligible: Float[Tensor, "b h n"]
    counted: Bool[Tensor, "b n"]
    received: Float[Tensor, "b h m"]
    map: Float[Tensor, "b h r c"]
    by_distance: Float[Tensor, "b h l"]
    output: Float[Tensor, "b h n e"] | None

    def __repr__(self) -> str:
        (b, h, n), m = self.lse.shape, self.received.shape[2]
        return f"Statistics(b={b}, h={h}, n={n}, m={m}, {self.gauges!r})"
