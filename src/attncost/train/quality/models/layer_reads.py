"""What a cheaper attention still reads in each layer, and how far that layer's output moves.

    mass kept = exp(log-sum-exp over the keys that it reads - log-sum-exp over all), a query
    moves = ||after - before|| / ||before||  of what attention returns, over all queries

Both are of the activations of the model as it is, so that each layer answers for itself. Two
log-sum-exps are all that any pattern needs; no n x m weights are written.
"""

from dataclasses import dataclass
from typing import TypeAlias, final

import torch
from jaxtyping import Float
from torch import Tensor

from attncost.core.dims import Dims
from attncost.kernels.attention import attention
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.interface import Pattern
from attncost.view.prices.executed import executed
from attncost.view.prices.pieces import within
from attncost.view.seen import Seen

# What a call returns, and the log-sum-exp of its scores.
Answer: TypeAlias = tuple[Float[Tensor, "b h n e"], Float[Tensor, "b h n"]]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class LayerRead:
    """What one layer reads.

    Attributes:
        name: Of the layer.
        mass: Share of its mass that is kept, mean over queries and heads; None for a mechanism,
            which weighs no pair.
        moved: How far its output moves; None for a mechanism that must learn first.
    """

    name: str
    mass: float | None
    moved: float | None


@final
class LayerReads:
    """The sum of what one attention reads in the layers of a model.

    Attributes:
        own: FLOPs that the model's own attention executes.
        executed: FLOPs that this one does.
        own_pairs: Pairs of queries and keys that the model's own attention reads.
        pairs: Pairs that this one reads; 0 for a mechanism.
    """

    def __init__(self, other: Pattern | Mechanism) -> None:
        self._other = other
        self._sums: dict[str, list[float]] = {}
        self.own = self.executed = 0
        self.own_pairs = self.pairs = 0

    def leave(self, seen: Seen) -> None:
        """See a call of a layer that keeps what it has."""
        own, pairs = executed(seen, seen.pattern), pairs_of(seen, seen.pattern)
        self.own, self.executed = self.own + own, self.executed + own
        self.own_pairs, self.pairs = self.own_pairs + pairs, self.pairs + pairs

    def add(self, seen: Seen, own: Answer) -> None:
        """See a call, which holds its values, and what it returns."""
        self.own += executed(seen, seen.pattern)
        self.own_pairs += pairs_of(seen, seen.pattern)
        out, lse = own
        if isinstance(self._other, Pattern):
            narrow = within(seen, self._other)
            self.executed += executed(seen, narrow)
            self.pairs += pairs_of(seen, narrow)
            other, less = attended(seen, narrow)
            mass = float((less - lse).double().exp().sum())
            found = (mass, lse.numel(), _square(other - out), _square(out))
        else:
            self.executed += _executed(self._other, seen)
            found = (0.0, 0, *_apart(self._other, seen, out))
        sums = self._sums.setdefault(seen.name, [0.0] * len(found))
        self._sums[seen.name] = [a + b for a, b in zip(sums, found, strict=True)]

    @property
    def layers(self) -> tuple[LayerRead, ...]:
        """What each layer reads, in the order of their first calls."""
        return tuple(
            LayerRead(
                name=name,
                mass=mass / queries if queries else None,
                moved=float((change / size) ** 0.5) if size else None,
            )
            for name, (mass, queries, change, size) in self._sums.items()
        )


def attended(seen: Seen, pattern: Pattern) -> Answer:
    """Return what a call returns if it reads a pattern."""
    assert seen.v is not None, "values are captured"
    return attention(seen.q, seen.k, seen.v, pattern, return_lse=True, **seen.wishes)


def pairs_of(seen: Seen, pattern: Pattern) -> int:
    """Return how many pairs of queries and keys a pattern reads in a call."""
    (b, h, n, _), m = seen.q.shape, seen.k.shape[2]
    return b * h * int(pattern.pairs(n, m))


def _apart(other: Mechanism, seen: Seen, out: Float[Tensor, "b h n e"]) -> tuple[float, float]:
    """Return the squares of a change and of what there was; 0 and 0 where it must learn first."""
    assert seen.v is not None, "values are captured"
    if other.parameters(Dims.of(seen.q.shape, seen.k.shape, seen.v.shape)):
        return 0.0, 0.0
    return _square(other.attend(seen.q, seen.k, seen.v, {}) - out), _square(out)


def _executed(other: Mechanism, seen: Seen) -> int:
    values = seen.k if seen.v is None else seen.v
    return int(other.cost(Dims.of(seen.q.shape, seen.k.shape, values.shape)).executed)


def _square(x: Tensor) -> float:
    return float(torch.linalg.vector_norm(x, dtype=torch.float64) ** 2)
