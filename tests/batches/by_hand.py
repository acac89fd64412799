"""What batches cost, text by text: from the rows of each and nothing that prices ways."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from attncost.batches.machine import AT_ONCE, Looping


@dataclass(frozen=True, kw_only=True)
class Priced:
    """A machine by its seconds of a call, of a slot, of the square of all slots, and of a pair.

    `pair` is paid for the pairs that `read` counts, by default all, or for all under a dense mask.
    """

    start: float = 0.0
    slot: float = 1e-5
    square: float = 0.0
    pair: float = 1e-8
    packed: Looping = AT_ONCE
    read: Callable[[int], int] | None = None
    name: str = "by hand"

    def rest(self, slots):
        return self.start + self.slot * slots + self.square * slots**2

    def attend(self, length, *, dense=False):
        return self.pair * (length**2 if dense or self.read is None else self.read(length))


def rows_of(batch, lengths):
    """Return the tokens of each text of each row, and the slots of a row."""
    rows = [[lengths[text] for text in row if lengths[text]] for row in batch.rows]
    return rows, batch.layout(lengths).width


def sequences(batch, lengths, documents) -> Iterator[tuple[int, str]]:
    """Yield what attention multiplies by itself, and how: a text apart, or a row, or one masked."""
    rows, width = rows_of(batch, lengths)
    packs = any(len(row) > 1 for row in rows)
    for row in rows:
        if not packs:
            yield width, "row"
        elif documents == "masked":
            yield width, "masked"
        else:
            yield from ((tokens, "text") for tokens in (*row, width - sum(row)) if tokens)


def seconds(machine, batches, lengths, documents="apart"):
    """Return the seconds of batches on a machine."""
    total = 0.0
    for batch in batches:
        rows, width = rows_of(batch, lengths)
        if not width:
            continue
        total += machine.rest(len(rows) * width)
        found = list(sequences(batch, lengths, documents))
        total += sum(machine.attend(tokens, dense=how == "masked") for tokens, how in found)
        texts = sum(how == "text" for _, how in found)
        total += machine.packed.row * bool(texts) + machine.packed.text * texts
    return total


def pairs(batches, lengths, documents="apart"):
    """Return the pairs that attention multiplies without a pattern."""
    return sum(n**2 for batch in batches for n, _ in sequences(batch, lengths, documents))
