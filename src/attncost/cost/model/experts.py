"""A mixture of experts: a router sends each token through a few of many feed-forwards.

2 n d E of the router + k (4 or 6) n d f of the experts visited + the shared ones

Every expert must be kept, whoever visits it: `learned` grows with all of them, the FLOPs with those
that a token visits. Which they are changes no count, unless an engine drops or pads tokens.
"""

from dataclasses import dataclass
from typing import final

from attncost.core.cost import Cost
from attncost.core.counts import Count, larger
from attncost.cost.model.dense import Dense
from attncost.cost.model.feed import Feed


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Experts(Feed):
    """Experts of one size (Shazeer et al. 2017, arXiv:1701.06538).

    Attributes:
        expert: One expert.
        experts: How many there are, without the shared ones.
        active: How many of them one token visits.
        shared: What every token passes through besides, all shared experts as one; None for
            nothing.
        shared_gate: Whether one number for each token scales the shared result.
        router_bias: Whether the router has a bias that is learned.
    """

    expert: Dense
    experts: Count
    active: Count
    shared: Dense | None = None
    shared_gate: bool = False
    router_bias: bool = False

    @property
    def learned(self) -> Count:
        """All experts, the shared ones and the router."""
        return self.experts * self.expert.learned + self._beside

    @property
    def used(self) -> Count:
        """Those that one token visits, the shared ones and the router."""
        return self.active * self.expert.learned + self._beside

    def cost(self, n: Count) -> Cost:
        """Return the products of the router, of the experts visited and of the shared ones."""
        d = self.expert.d_model
        cost = Cost.product(n, d, self.experts).named("router")
        cost = cost + self.expert.cost(n * self.active).named("experts")
        if self.shared:
            cost = cost + self.shared.cost(n).named("shared experts")
        if self.shared_gate:
            cost = cost + Cost.product(n, d, 1).named("shared experts' gate")
        return cost

    def kept(self, n: Count) -> Count:
        """Keep what the router says, and each visit's input, inside and result, to be weighted."""
        d, visits = self.expert.d_model, n * self.active
        routed = n * self.experts + visits * (2 * d + 1) + self.expert.kept(visits)
        shared = self.shared.kept(n) if self.shared else 0
        return routed + shared + (n * (d + 1) if self.shared_gate else 0)

    def live(self, n: Count) -> Count:
        """Hold what the router says, each visit's input and inside, and the sum of all."""
        d, visits = self.expert.d_model, n * self.active
        routed = n * (self.experts + d) + visits * d + self.expert.live(visits)
        if not self.shared:
            return routed
        # The shared result is there while the experts run, or the other way round.
        return n * d + larger(routed, self.shared.live(n))

    @property
    def _beside(self) -> Count:
        d = self.expert.d_model
        router = d * self.experts + (self.experts if self.router_bias else 0)
        shared = self.shared.learned if self.shared else 0
        return router + shared + (d if self.shared_gate else 0)
