"""How the weights of each query lie by distance: within widths, quantiles, on average.

Distances are summed up in bins of 64, and only the bin in which a quantile lies is looked at
closer, so all quantiles and widths together cost little more than reading the weights once.
"""

from collections.abc import Iterator
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attncost.view.statistics.skewed import BIN, Reach


@final
class Distances:
    """Weights of one piece by distance, not divided by their sum."""

    __slots__ = ("_after", "_reach", "_until", "_weights")

    def __init__(self, weights: Float[Tensor, "l r u"], reach: Reach) -> None:
        self._weights, self._reach = weights, reach
        before, after, zero = reach.before, reach.after, reach.zero
        bins = weights.new_zeros(*weights.shape[:2], max(before, after) + 1)
        bins[..., 1 : before + 1] = _binned(weights[..., : zero + 1]).flip(-1)
        # Distance 0 was counted among the keys before.
        later = weights[..., zero + 1 : zero + BIN].sum(-1, keepdim=True)
        if after > 1:
            later = torch.cat([later, _binned(weights[..., zero + BIN :])], -1)
        # Often nothing is read there, though a block has such keys.
        self._after = float(later.amax()) > 0
        if self._after:
            bins[..., 1 : after + 1] += later
        self._until = bins.cumsum_(-1)

    @property
    def total(self) -> Float[Tensor, "l r"]:
        """The sum of all weights of each query."""
        return self._until[..., -1]

    @property
    def near(self) -> Float[Tensor, "l r 2"]:
        """The weights of the key before the query, and of its own."""
        zero = self._reach.zero
        return self._weights[..., zero - 1 : zero + 1]

    def mean(self, far: Float[Tensor, "_"]) -> Float[Tensor, "l r"]:
        """Return the sum of weights times distances.

        Args:
            far: Distances on both sides of 0, at least as many as there are here.
        """
        start = len(far) // 2 - self._reach.zero
        lanes = far[start : start + self._reach.columns].expand(len(self._weights), 1, -1)
        # So turned, the product of a few long rows with one column is fast.
        return torch.bmm(lanes, self._weights.mT)[:, 0]

    def within(self, widths: tuple[int, ...]) -> Float[Tensor, "l r w"]:
        """Return the weight of keys less than so many tokens away, for each width."""
        most, found = self._until.shape[2] - 1, []
        for width in widths:
            full = min(width // BIN, most)
            one = self._until[..., full]
            if width % BIN and full < most:
                one = one + self._between(full * BIN, width)
            found.append(one)
        return torch.stack(found, -1) if found else self._until[..., :0]

    def _between(self, start: int, stop: int) -> Float[Tensor, "l r"]:
        """Return the weight at some distances of one bin."""
        zero, columns = self._reach.zero, self._reach.columns
        found = self._weights[..., max(zero - stop + 1, 0) : max(zero - start + 1, 0)].sum(-1)
        if not self._after:
            return found
        first, last = min(zero + max(start, 1), columns), min(zero + stop, columns)
        return found + self._weights[..., first:last].sum(-1)

    def quantiles(self, shares: Float[Tensor, "p"]) -> Float[Tensor, "l r p"]:
        """Return the smallest distances within which such shares of the weight lie."""
        wanted = self._until[..., -1:] * shares
        bins = (torch.searchsorted(self._until, wanted) - 1).clamp_(min=0)
        # How far into that bin, by its 64 distances on both sides.
        inside = self._beside(bins).cumsum_(-1)
        missing = (wanted - self._until.gather(-1, bins))[..., None]
        # The bin was summed up in another order: never look beyond what lies in it.
        offset = torch.searchsorted(inside, torch.minimum(missing, inside[..., -1:]))
        return bins.mul_(BIN).add_(offset[..., 0]).to(wanted.dtype)

    def _beside(self, bins: Int[Tensor, "l r p"]) -> Float[Tensor, "l r p _"]:
        """Return the weights of the distances of one bin, those of both sides added."""
        reach = self._reach
        found = self._stretches(reach.zero - BIN + 1 - bins * BIN).flip(-1)
        if reach.before < reach.after:
            found *= (bins < reach.before)[..., None]
        if not self._after:
            return found
        after = self._stretches((reach.zero + bins * BIN).clamp_(max=reach.columns - BIN))
        after *= (bins < reach.after)[..., None]
        # Distance 0 is on the other side already.
        after[..., 0] *= bins > 0
        return found.add_(after)

    def _stretches(self, first: Int[Tensor, "l r p"]) -> Float[Tensor, "l r p _"]:
        """Return the weights of neighbouring columns from some first one on."""
        weights, (lanes, rows, number) = self._weights, first.shape
        lane, row, _ = weights.stride()
        # All stretches of memory that there are; a few of them are copied.
        size = (lanes - 1) * lane + (rows - 1) * row + weights.shape[2] - BIN + 1
        every = weights.as_strided((size, BIN), (1, 1))
        of_lanes = torch.arange(0, lanes * lane, lane, device=first.device)[:, None, None]
        of_rows = torch.arange(0, rows * row, row, device=first.device)[:, None]
        at = first.clamp(min=0).add_(of_rows).add_(of_lanes)
        return every.index_select(0, at.flatten()).view(lanes, rows, number, BIN)

    def summed(self, of: Float[Tensor, "l 1 r"]) -> Iterator[tuple[int, Float[Tensor, "l _"]]]:
        """Add up over queries: give the weights at all distances from some first one on.

        Args:
            of: What each query is multiplied with.
        """
        columns, zero = torch.bmm(of, self._weights)[:, 0], self._reach.zero
        yield 0, columns[:, : zero + 1].flip(-1)
        if self._after:
            yield 1, columns[:, zero + 1 :]


def _binned(weights: Float[Tensor, "l r u"]) -> Float[Tensor, "l r _"]:
    return weights.view(*weights.shape[:2], -1, BIN).sum(-1)
