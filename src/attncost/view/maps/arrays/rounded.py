"""Queries and keys in 16 bits, and the log-sum-exp that makes exact weights of them.

    weight(i, j) = exp(cap(scale q_i k_j) + bias_j - alibi |distance| - lse_i)

The log-sum-exp is that of the rounded pair, in float64, so a page that multiplies the rounded pair
finds weights that sum to 1 and differ from the model's by the rounding alone. A layer whose
numbers leave the range of 16 bits is multiplied by powers of two, and its scale divided by them.

    time  O(h n m d) where keys are read,  memory  O(n d + m d), a few rows at a time
"""

import math
from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncost.core.errors import ShapeError
from attncost.view.maps.arrays.biases import Bias
from attncost.view.maps.arrays.spans import Reads
from attncost.view.seen import Seen

# Between these the largest number of a tensor is stored as it is: above, 16 bits overflow, below,
# the smaller ones lose more digits than the largest.
_LEAST: Final = 2.0**-10
_MOST: Final = 2.0**15
_SCORES_AT_ONCE: Final = 1 << 20


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Rounded:
    """One call of attention as a page multiplies it again.

    Attributes:
        q: Queries.
        k: Keys.
        scale: Factor of the scores.
        softcap: Their bound.
        bias: What is added to them.
        alibi: Slope of each head.
        sink: A score of each head that takes part in the softmax.
        reads: Which keys each query reads.
        padded: Which keys are padding.
    """

    q: Float[Tensor, "h n d"]
    k: Float[Tensor, "g m d"]
    scale: float
    softcap: float | None
    bias: Bias | None
    alibi: Float[Tensor, "h"] | None
    sink: Float[Tensor, "h"] | None
    reads: Reads
    padded: Bool[Tensor, "m"] | None

    def group(self, head: int) -> int:
        """Return the place of a head's keys."""
        return head // (len(self.q) // len(self.k))

    def lse(self, head: int) -> Float[Tensor, "n"]:
        """Return the log-sum-exp of each query of a head, -inf where it reads nothing."""
        n, m = self.q.shape[1], self.k.shape[1]
        step = max(1, _SCORES_AT_ONCE // max(1, m))
        found = [self._lse(head, slice(start, min(n, start + step))) for start in range(0, n, step)]
        return torch.cat(found).float()

    def weights(self, head: int, rows: slice) -> Float[Tensor, "r m"]:
        """Return the weights of some queries of a head, 0 where nothing is read."""
        scores = self._scores(head, rows, slice(None))
        lse = self._lse(head, rows)[:, None]
        return (scores - lse.masked_fill(lse.isneginf(), 0)).exp()

    def _lse(self, head: int, rows: slice) -> Float[Tensor, "r"]:
        scores = self._scores(head, rows, self._columns(rows))
        nothing = scores.isneginf().all(-1)
        if self.sink is not None:
            sink = self.sink[head].double().expand(len(scores), 1)
            scores = torch.cat([scores, sink], -1)
        return scores.logsumexp(-1).masked_fill(nothing, -math.inf)

    def _columns(self, rows: slice) -> slice:
        """Return the keys between the first and the last that some queries read."""
        reads, ends = self.reads, self.reads.counts.cumsum()
        first, last = ends[rows.start] - reads.counts[rows.start], ends[rows.stop - 1]
        if first == last:
            return slice(0, 1)
        return slice(int(reads.starts[first:last].min()), int(reads.ends[first:last].max()))

    def _scores(self, head: int, rows: slice, columns: slice) -> Float[Tensor, "r c"]:
        n, m = self.q.shape[1], self.k.shape[1]
        scores = self.q[head, rows].double() @ self.k[self.group(head), columns].double().mT
        scores *= self.scale
        if self.softcap is not None:
            scores = self.softcap * torch.tanh(scores / self.softcap)
        if self.bias is not None:
            scores += self.bias.of(head, rows, n)[:, columns]
        if self.alibi is not None:
            query = torch.arange(rows.start, rows.stop)[:, None] + (m - n)
            distance = (query - torch.arange(m)[columns]).abs()
            scores -= self.alibi[head].double() * distance
        shut = ~self.reads.mask(rows)[:, columns]
        if self.padded is not None:
            shut |= self.padded[columns]
        return scores.masked_fill_(shut, -math.inf)


def rounded(
    seen: Seen, *, reads: Reads, bias: Bias | None, padded: Bool[Tensor, "m"] | None
) -> Rounded:
    """Round one call of one sequence.

    Args:
        seen: The call.
        reads: What it reads.
        bias: What is added to the scores.
        padded: Which keys are padding; whatever they hold is nobody's.

    Raises:
        ShapeError: If a query or key is no finite number.
    """
    q, k = (x[0].detach().to("cpu", torch.float64) for x in (seen.q, seen.k))
    if padded is not None:
        k = k.masked_fill(padded[:, None], 0)
    _check_finite(seen, q, k)
    up_q, up_k = _exponent(q), _exponent(k)
    scale = seen.wishes.get("scale")
    scale = float(q.shape[2] ** -0.5 if scale is None else scale)
    alibi, sink = seen.wishes.get("alibi"), seen.wishes.get("sink")
    return Rounded(
        q=(q * 2.0**up_q).half(),
        k=(k * 2.0**up_k).half(),
        scale=scale * 2.0 ** -(up_q + up_k),
        softcap=seen.wishes.get("softcap"),
        bias=bias,
        alibi=None if alibi is None else alibi.detach().cpu(),
        sink=None if sink is None else sink.detach().cpu(),
        reads=reads,
        padded=padded,
    )


def _check_finite(seen: Seen, q: Tensor, k: Tensor) -> None:
    for what, x in (("query", q), ("key", k)):
        bad = ~x.isfinite().all(-1)
        if bad.any():
            place, token = (int(number) for number in bad.nonzero()[0])
            first = place * (len(q) // len(x))
            raise ShapeError(
                f"the {what} of token {token} in head {seen.heads[first]} of {seen.name!r} is not "
                "finite, so there are no weights to show: look for NaN in the weights or inputs of "
                "the model, or choose other layers."
            )


def _exponent(x: Float[Tensor, "_ _ d"]) -> int:
    """Return the power of two that brings numbers into the range of 16 bits, if they are not."""
    largest = float(x.abs().max()) if x.numel() else 0.0
    if largest == 0 or _LEAST <= largest <= _MOST:
        return 0
    return -math.frexp(largest)[1]
