"""How far outputs move, measured in how large they were.

moves = ||after - before|| / ||before||  over the rows that count
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncost.kernels.attention import attention
from attncost.patterns.interface import Pattern
from attncost.view.prices.pieces import within
from attncost.view.seen import Seen


def moved(seen: Seen, pattern: Pattern, rows: Bool[Tensor, "b n"]) -> float | None:
    """Return how far a narrower pattern moves what a call returns, by computing both.

    Args:
        seen: The call.
        pattern: What narrows its own.
        rows: Queries that count.

    Returns:
        None without values, or where what was returned is 0 or not finite.
    """
    if seen.v is None:
        return None
    with torch.no_grad():
        before, after = (
            attention(seen.q, seen.k, seen.v, one, **seen.wishes).transpose(1, 2)[rows]
            for one in (seen.pattern, within(seen, pattern))
        )
    return relative_change(before, after)


def relative_change(
    before: Float[Tensor, "*shape"], after: Float[Tensor, "*shape"]
) -> float | None:
    """Return the size of a change over that of what was there; None if that is no number."""
    wide = torch.promote_types(before.dtype, torch.float32)
    size = torch.linalg.vector_norm(before, dtype=wide)
    change = torch.linalg.vector_norm(after - before, dtype=wide)
    moves = float(change / size)
    return moves if math.isfinite(moves) else None
