"""One call of attention as it was made: tensors, and what they may read."""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor

from attncost.core.options import Wishes
from attncost.kernels.weights import attention_weights
from attncost.patterns.interface import Pattern


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Seen:
    """One call of exact attention in a model.

    Attributes:
        name: The module that made it.
        q: Queries as they are multiplied, rotated and normalised, of the chosen heads.
        k: Keys, those of a cache included.
        v: Values, where they were asked for.
        pattern: Which key each query reads, beside `wishes`.
        wishes: Mask, segments, bias, cap, sink and scale; no dropout.
        heads: The model's numbers of the query heads in `q`.
        cross: Whether keys come from another sequence, so that distances mean nothing.
    """

    name: str
    q: Float[Tensor, "b h n d"]
    k: Float[Tensor, "b g m d"]
    v: Float[Tensor, "b g m e"] | None
    pattern: Pattern
    wishes: Wishes
    heads: tuple[int, ...]
    cross: bool = False

    def __repr__(self) -> str:
        (b, h, n, _), m = self.q.shape, self.k.shape[2]
        crossing = ", cross" if self.cross else ""
        return f"Seen({self.name!r}: {self.pattern!r}, b={b}, h={h}, n={n}, m={m}{crossing})"

    def weights(
        self, rows: int | slice | range | list[int] | None = None
    ) -> Float[Tensor, "b h r m"]:
        """Return the exact weights of some queries; all of them are n x m numbers.

        Args:
            rows: Which queries, by number, from the end if negative; all if left out.
        """
        return attention_weights(self.q, self.k, self.pattern, rows=rows, **self.wishes)  # type: ignore[misc]


def wishes_of_heads(wishes: Wishes, heads: slice | list[int]) -> Wishes:
    """Return what is asked of some heads.

    Args:
        wishes: What is asked of all.
        heads: Places of query heads.
    """
    found = wishes.copy()
    if (alibi := wishes.get("alibi")) is not None:
        found["alibi"] = alibi[heads]
    if (sink := wishes.get("sink")) is not None:
        found["sink"] = sink[heads]
    if (bias := wishes.get("bias")) is not None and bias.shape[1] > 1:
        found["bias"] = bias[:, heads]
    return found
