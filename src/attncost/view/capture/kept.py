"""What is kept of a call of attention that was seen.

    whole: b (h + g) n d numbers a call, with values b g m e more
    rows:  b h r m numbers a call, so that T generated tokens keep T rows of weights and no keys

Queries, keys and values that are kept are copies, since a model may change its own in place, as a
static cache does. What `wishes` hold is not copied: layers share it, and a bias may be n x m of
them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from attncost.core.errors import ShapeError
from attncost.view.seen import Seen, wishes_of_heads

Rows: TypeAlias = Literal["last"] | int | Iterable[int]


def whole(seen: Seen, *, values: bool = False) -> Seen:
    """Return a call with queries and keys of its own.

    Args:
        seen: The call.
        values: Whether to keep its values, too.
    """
    v = _owned(seen.v) if values and seen.v is not None else None
    return replace(seen, q=_owned(seen.q), k=_owned(seen.k), v=v)


def of_heads(seen: Seen, heads: Sequence[int]) -> Seen:
    """Return a call as if the model had no other heads.

    Args:
        seen: The call.
        heads: The model's numbers of query heads.

    Raises:
        ShapeError: If there is no such head, or none is chosen, or one twice.
    """
    heads = tuple(heads)
    if heads == seen.heads:
        return seen
    if not heads or len({*heads}) < len(heads):
        raise ShapeError(f"heads must be different numbers, at least one, got {list(heads)}.")
    for head in heads:
        if head not in seen.heads:
            raise ShapeError(
                f"{seen.name or 'the module'} has no head {head} among those it was seen with: "
                f"{seen.heads[0]} to {seen.heads[-1]}."
            )
    at = [seen.heads.index(head) for head in heads]
    shared = seen.q.shape[1] // seen.k.shape[1]
    groups = [one // shared for one in at]
    once = [*dict.fromkeys(groups)]
    # Keys stay shared only where each is read by as many heads, one after the other.
    each = len(at) // len(once)
    if groups != [group for group in once for _ in range(each)]:
        once = groups
    return replace(
        seen,
        q=seen.q[:, at],
        k=seen.k[:, once],
        v=None if seen.v is None else seen.v[:, once],
        wishes=wishes_of_heads(seen.wishes, at),
        heads=heads,
    )


def rows_of(seen: Seen, rows: Rows) -> Float[Tensor, "b h r m"]:
    """Return the weights of some queries of a call, in memory of their own.

    Args:
        seen: The call.
        rows: "last", or numbers of queries, from the end if negative.

    Raises:
        ShapeError: If there is no such query.
    """
    asked = [-1] if rows == "last" else rows if isinstance(rows, int) else [*rows]
    with torch.no_grad():
        return seen.weights(asked)


def padded(calls: Sequence[Float[Tensor, "_ _ _ _"]]) -> Float[Tensor, "s b h m"]:
    """Return the rows of calls one after the other, 0 beyond the keys that a call had.

    Raises:
        ShapeError: If there are none, or they differ in sequences or heads.
    """
    rows = [row for weights in calls for row in weights.unbind(2)]
    shapes = {tuple(row.shape[:2]) for row in rows}
    if len(shapes) != 1:
        raise ShapeError(
            "rows of calls can be put together if all have the same sequences and heads, got "
            f"{sorted(shapes) if shapes else 'no row'}."
        )
    most = max(row.shape[2] for row in rows)
    return torch.stack([pad(row, (0, most - row.shape[2])) for row in rows])


def _owned(x: Tensor) -> Tensor:
    """Return a copy that keeps nothing else alive."""
    return x.detach().clone(memory_format=torch.contiguous_format)
