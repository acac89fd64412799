"""What lies in batches, counted by shape and by length: of a million texts few differ in either."""

from collections import Counter
from typing import final

from attncost.batches.machine import Documents, apart, attended
from attncost.batches.rows import Rows


@final
class Tally:
    """What lies in all batches."""

    __slots__ = ("alone", "inside", "looped", "looped_calls", "masked", "shapes")

    def __init__(self) -> None:
        # Rows and slots of a row of each batch.
        self.shapes: Counter[tuple[int, int]] = Counter()
        # Lengths of what attention takes by itself, and of rows that it takes under a dense mask.
        self.alone: Counter[int] = Counter()
        self.masked: Counter[int] = Counter()
        # Lengths of what lies in the latter.
        self.inside: Counter[int] = Counter()
        # Batches whose texts attention takes one by one, and all that it takes there.
        self.looped_calls = self.looped = 0

    def add(self, rows: Rows, documents: Documents) -> None:
        """Count one batch."""
        self.shapes[len(rows.documents), rows.width] += 1
        if not rows.width:
            return
        taken, packs = attended(rows), apart(rows)
        if packs and documents == "masked":
            self.masked.update(attended(rows, documents=documents))
            self.inside.update(taken)
            return
        self.alone.update(taken)
        if packs:
            self.looped_calls += 1
            self.looped += len(taken)

    @property
    def sequences(self) -> Counter[int]:
        """Lengths of all that attention takes."""
        return self.alone + self.masked

    @property
    def calls(self) -> Counter[int]:
        """Slots of the batches that have any."""
        found: Counter[int] = Counter()
        for (rows, width), times in self.shapes.items():
            if width:
                found[rows * width] += times
        return found

    @property
    def largest(self) -> tuple[tuple[int, int], ...]:
        """The shapes that fit into no other."""
        found: list[tuple[int, int]] = []
        for rows, width in sorted(self.shapes, reverse=True):
            if not found or width > found[-1][1]:
                found.append((rows, width))
        return tuple(found)
