"""Which tokens of a call are padding."""

from dataclasses import dataclass
from typing import final

from jaxtyping import Bool
from torch import Tensor

from attncost.view.seen import Seen


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Hidden:
    """Which tokens of a call of one sequence are padding, None if none is.

    Attributes:
        queries: Of the queries.
        keys: Of the keys, a cache included.
    """

    queries: Bool[Tensor, "n"] | None = None
    keys: Bool[Tensor, "m"] | None = None

    @classmethod
    def of(cls, seen: Seen, target: Seen | None = None) -> "Hidden":
        """Find the padding of one call of one sequence.

        Args:
            seen: The call.
            target: A call whose keys are the queries of this one, which in cross-attention do not
                tell.
        """
        return cls(
            queries=_padding(real_queries(seen, target)), keys=_padding(seen.wishes.get("key_mask"))
        )


def real_queries(seen: Seen, target: Seen | None = None) -> Bool[Tensor, "b n"] | None:
    """Return which queries are no padding, None if nothing tells.

    Args:
        seen: The call, of any number of sequences.
        target: As for `Hidden.of`, of as many.
    """
    n, told = seen.q.shape[2], target if seen.cross else seen
    mask = None if told is None else told.wishes.get("key_mask")
    # Queries are the last ones of their keys.
    return None if mask is None or mask.shape[1] < n else mask[:, -n:]


def _padding(real: Bool[Tensor, "_ l"] | None) -> Bool[Tensor, "l"] | None:
    return None if real is None or bool(real.all()) else ~real[0].cpu()
