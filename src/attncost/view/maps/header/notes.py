"""What a page says of itself: what it contains, and how far what it shows may be off."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from attncost.core.units import show
from attncost.view.maps.arrays.rounded import Rounded
from attncost.view.maps.header.calls import Call
from attncost.view.seen import Seen

CONTAINS: Final = (
    "This page contains the tokens of the text, and activations of the model from which text may "
    "be guessed: share it with nobody who may not read the text."
)
# Rows in which rounding is measured, spread over the queries of each head.
_ROWS: Final = 4


def notes(
    captured: Mapping[str, tuple[Seen, ...]],
    shown: Sequence[tuple[Call, Rounded]],
    *,
    sequence: int,
) -> list[str]:
    """Return the notes at the foot of a page.

    Args:
        captured: All calls by module.
        shown: Those that are shown, as they were and as the page multiplies them.
        sequence: Which one of a batch is shown.
    """
    found = [CONTAINS, _rounding(shown)]
    batch = max(len(some[-1].q) for some in captured.values() if some)
    if batch > 1:
        found.append(f"It shows sequence {sequence} of a batch of {batch}, counted from 0.")
    if any(call.seen.v is None and not call.seen.cross for call, _ in shown):
        found.append("How far outputs move with a window is not known: capture with values=True.")
    modules = {call.module for call, _ in shown}
    made = sum(len(captured[name]) for name in modules)
    if made > len(shown):
        found.append(
            f"It shows {len(shown):,} of {made:,} calls: of each layer those of its last length."
        )
    return found


def subtitle(shown: Sequence[tuple[Call, Rounded]]) -> str:
    """Return how much is shown."""
    heads = sum(len(one.q) for _, one in shown)
    n, m = max(one.q.shape[1] for _, one in shown), max(one.k.shape[1] for _, one in shown)
    tokens = _many(max(n, m), "token")
    if n < m and not any(call.seen.cross for call, _ in shown):
        tokens = f"the last {n:,} of {tokens}"
    return f"{_many(len(shown), 'layer')}, {_many(heads, 'head')}, {tokens}"


def largest_change(call: Call, shown: Rounded) -> float:
    """Return the most by which rounding changes a weight, in some queries of each head."""
    n = shown.q.shape[1]
    rows = sorted({(2 * place + 1) * n // (2 * _ROWS) for place in range(_ROWS)})
    # In the type of a half-precision model weights would be rounded too.
    seen = replace(call.seen, q=call.seen.q.float(), k=call.seen.k.float())
    exact = seen.weights(rows)[0].detach().cpu().double()
    changes = (
        (shown.weights(head, slice(row, row + 1))[0] - exact[head, place]).abs().max()
        for head in range(len(shown.q))
        for place, row in enumerate(rows)
    )
    return max(map(float, changes))


def _rounding(shown: Sequence[tuple[Call, Rounded]]) -> str:
    change = max(largest_change(call, one) for call, one in shown)
    return (
        "Weights are computed in the page from queries and keys in 16 bits. In the "
        f"{_ROWS} queries of each head where that was measured it changes no weight by more than "
        f"{show(change, 'percent')} of the query's mass."
    )


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
