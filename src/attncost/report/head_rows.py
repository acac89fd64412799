"""What the heads of a model attend to, in numbers: a row a head."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import torch

from attncost.view.maps.header.calls import Call
from attncost.view.prices.layers import LayerPrice
from attncost.view.statistics.results import Statistics
from attncost.view.statistics.summaries import MASS, head_summaries, reach

HALF: Final = 0.5
# A head rests on tokens that get this share of its mass.
RESTS: Final = 0.5
_SIDE: Final = re.compile("encoder|decoder", re.IGNORECASE)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class HeadRow:
    """One head on one sequence; shares are of its mass, the mean over all queries.

    Attributes:
        layer: The name of its layer in the model.
        call: Which of the layer's calls it is about, from 1; None if there is but one.
        head: Its number there.
        width: Tokens within which `MASS` of its mass lies, the query's own among them: behind it,
            and where it reads ahead on each side; None where keys come from another sequence.
        half_width: The same for `HALF`.
        entropy: Of the weights of a query, in nats.
        on_first: Mass on the first tokens.
        on_self: Mass on the token itself; None where keys come from another sequence.
        on_previous: Mass on the token before; None likewise.
        special: Mass on what the tokenizer added; None if that is not known.
        effective_rank: Effective rank of the pooled map.
    """

    layer: str
    call: int | None = None
    head: int
    width: int | None
    half_width: int | None
    entropy: float
    on_first: float
    on_self: float | None
    on_previous: float | None
    special: float | None
    effective_rank: float


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Heads:
    """All heads that were looked at.

    Attributes:
        model: Its name as it was typed.
        read: What it read, in words.
        left_out: What of the text it did not read, in words; empty if it read all.
        length: Tokens of the longest sequence.
        first: How many of the first tokens `HeadRow.on_first` is about.
        rows: A row a head.
        prices: Of layers, by name; empty if they were not asked for.
        missing: What could not be found out, a sentence each.
    """

    model: str
    read: str
    left_out: str
    length: int
    first: int
    rows: tuple[HeadRow, ...]
    prices: Mapping[str, LayerPrice]
    missing: tuple[str, ...] = ()

    @property
    def calls(self) -> dict[tuple[str, int | None], list[HeadRow]]:
        """The heads of each call of a layer, by the layer's name and the number of the call."""
        found: dict[tuple[str, int | None], list[HeadRow]] = {}
        for row in self.rows:
            found.setdefault((row.layer, row.call), []).append(row)
        return found

    @property
    def labels(self) -> dict[tuple[str, int | None], str]:
        """A short name of each call: its layer's, with its number if there are several."""
        cross = {row.layer for row in self.rows if row.width is None}
        short = labels([*dict.fromkeys(row.layer for row in self.rows)], cross=cross)
        return {
            (layer, nth): short[layer] if nth is None else f"{short[layer]} (call {nth})"
            for layer, nth in self.calls
        }

    @property
    def swaps(self) -> list[LayerPrice]:
        """The layers for which there is a line that swaps something cheaper in, cheapest first."""
        found = [one for one in self.prices.values() if one.line and one.share is not None]
        return sorted(found, key=lambda one: (one.share or 0.0, one.damage or 0.0))


def head_rows(
    call: Call, found: Statistics, *, special: Sequence[bool] = ()
) -> tuple[HeadRow, ...]:
    """Return the rows of the heads of a call, of its first sequence.

    Args:
        call: The call.
        found: Its statistics.
        special: Which keys are tokens that the tokenizer added; empty if that is not known.
    """
    summaries, near = head_summaries(found), not call.seen.cross
    most, half = (reach(found, mass)[0] + 1 for mass in (MASS, HALF))
    added = None
    if len(special) == found.received.shape[2]:
        added = found.received[0][:, torch.tensor(special, device=found.received.device)].sum(1)
    return tuple(
        HeadRow(
            layer=call.module,
            call=call.nth,
            head=number,
            width=int(most[i]) if near else None,
            half_width=int(half[i]) if near else None,
            entropy=float(summaries.entropy[0, i]),
            on_first=float(summaries.on_first[0, i]),
            on_self=float(summaries.on_self[0, i]) if near else None,
            on_previous=float(summaries.on_previous[0, i]) if near else None,
            special=None if added is None else float(added[i]),
            effective_rank=float(summaries.effective_rank[0, i]),
        )
        for i, number in enumerate(call.seen.heads)
    )


def telling_width(widths: Sequence[int], length: int) -> int | None:
    """Return the power of two that says most: of many heads, within few of all tokens.

    Args:
        widths: Of each head.
        length: Tokens of the sequence.

    Returns:
        None if no head stays within half of the tokens.

    >>> telling_width([3, 20, 30, 500], 512)
    32
    """
    best, most = None, 0
    width = 1
    while width <= length // 2:
        gain = sum(one <= width for one in widths) * (length - width)
        if gain > most:
            best, most = width, gain
        width *= 2
    return best


def labels(names: Sequence[str], *, cross: Collection[str] = ()) -> dict[str, str]:
    """Return a short name of each layer: its number, with its side and kind where numbers repeat.

    Args:
        names: Of all layers.
        cross: Those that read another sequence.

    >>> labels(["encoder.layer.0.self", "encoder.layer.1.self"])
    {'encoder.layer.0.self': '0', 'encoder.layer.1.self': '1'}
    >>> labels(["encoder.0.self", "decoder.0.self", "decoder.0.other"], cross={"decoder.0.other"})
    {'encoder.0.self': 'encoder 0', 'decoder.0.self': 'decoder 0', 'decoder.0.other': 'cross 0'}
    >>> labels(["left.0.self", "right.0.self"])
    {'left.0.self': 'left.0.self', 'right.0.self': 'right.0.self'}
    """
    whole = {name: name or "the model" for name in names}
    numbers = {name: next(filter(str.isdecimal, name.split(".")), whole[name]) for name in names}
    sides = {name: _side(name, cross=name in cross) for name in names}
    beside = {
        name: f"{sides[name]} {number}" if number != whole[name] else number
        for name, number in numbers.items()
    }
    found = (short for short in (numbers, beside) if len(set(short.values())) == len(names))
    return next(found, whole)


def _side(name: str, *, cross: bool) -> str:
    # Only a decoder attends across, and a table of a terminal has ten columns for both words.
    if cross:
        return "cross"
    side = _SIDE.search(name)
    return side[0].lower() if side else "layer"
