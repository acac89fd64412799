"""Rows of a tensor, taken tile by tile: views where tiles lie evenly, copies where they do not.

A lane is the list of rows that one tile needs; lanes of one step are equally long. Taking never
allocates more than one element for each row of each lane, and overlapping lanes share memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attncost.core.unseen import repeats_left_out


@final
@dataclass(frozen=True, slots=True)
class Even:
    """Row `first + hop * lane + step * i` for each lane and each i < length."""

    first: int
    hop: int
    step: int
    lanes: int
    length: int

    def cut(self, start: int, stop: int) -> "Even":
        """Return the lanes from `start` to before `stop`."""
        return Even(self.first + self.hop * start, self.hop, self.step, stop - start, self.length)

    def narrow(self, start: int, stop: int) -> "Even":
        """Return rows from `start` to before `stop` of each lane."""
        return Even(self.first + self.step * start, self.hop, self.step, self.lanes, stop - start)

    def rows(self, device: torch.device) -> Int[Tensor, "lanes length"]:
        """Return the number of each row."""
        lane = torch.arange(self.lanes, device=device)[:, None] * self.hop
        return self.first + lane + torch.arange(self.length, device=device) * self.step

    def take(self, x: Float[Tensor, "g n f"]) -> Float[Tensor, "lanes g length f"]:
        """Return a view of the rows; lanes may overlap."""
        heads, row, feature = x.stride()
        return x.as_strided(
            (self.lanes, x.shape[0], self.length, x.shape[2]),
            (row * self.hop, heads, row * self.step, feature),
            x.storage_offset() + row * self.first,
        )

    def put(self, x: Float[Tensor, "g n f"], values: Float[Tensor, "lanes g length f"]) -> None:
        """Overwrite the rows; lanes must not overlap."""
        self.take(x).copy_(values)

    def add(self, x: Float[Tensor, "g n f"], values: Float[Tensor, "lanes g length f"]) -> None:
        """Add to the rows, to a row of several lanes as often as it stands in one."""
        if self.hop == 0:
            x[:, self._lane()].add_(values.sum(0))
        elif self._apart():
            self.take(x).add_(values)
        elif self.hop % self.step == 0:
            self._add_pieces(x, values)
        else:
            for lane, value in enumerate(values):
                x[:, self.cut(lane, lane + 1)._lane()].add_(value)

    def _lane(self) -> slice:
        return slice(self.first, self.first + self.step * (self.length - 1) + 1, self.step)

    def _apart(self) -> bool:
        """Say whether no row stands in two lanes."""
        return self.hop >= self.step * self.length or self.hop * self.lanes <= self.step

    def _add_pieces(self, x: Tensor, values: Tensor) -> None:
        """Cut lanes so short that the first pieces of all lanes do not overlap, then the next."""
        most = self.hop // self.step
        for start in range(0, self.length, most):
            length = min(most, self.length - start)
            piece = Even(self.first + self.step * start, self.hop, self.step, self.lanes, length)
            piece.take(x).add_(values[:, :, start : start + length])


@final
@dataclass(frozen=True, slots=True)
class Scattered:
    """For each lane, stretches of rows one after the other."""

    stretches: tuple[tuple[range, ...], ...]

    @property
    def lanes(self) -> int:
        """How many there are."""
        return len(self.stretches)

    @property
    def length(self) -> int:
        """How many rows each has."""
        return sum(map(len, self.stretches[0]))

    def cut(self, start: int, stop: int) -> "Scattered":
        """Return the lanes from `start` to before `stop`."""
        return Scattered(self.stretches[start:stop])

    def rows(self, device: torch.device) -> Int[Tensor, "lanes length"]:
        """Return the number of each row."""
        numbers = [list(chain.from_iterable(lane)) for lane in self.stretches]
        return torch.tensor(numbers, device=device)

    def take(self, x: Float[Tensor, "g n f"]) -> Float[Tensor, "lanes g length f"]:
        """Return a copy of the rows."""
        rows = self.rows(x.device).flatten()
        taken = x.index_select(1, rows).view(len(x), self.lanes, self.length, x.shape[2])
        return taken.transpose(0, 1)

    def put(self, x: Float[Tensor, "g n f"], values: Float[Tensor, "lanes g length f"]) -> None:
        """Overwrite the rows; lanes must not overlap."""
        for rows, value in self._pieces(values):
            x[:, rows] = value

    def add(self, x: Float[Tensor, "g n f"], values: Float[Tensor, "lanes g length f"]) -> None:
        """Add to the rows, to a row of several lanes as often as it stands in one."""
        for rows, value in self._pieces(values):
            x[:, rows] += value

    def _pieces(self, values: Tensor) -> Iterator[tuple[slice, Tensor]]:
        if repeats_left_out(values):
            return  # There is nothing to write, and to write takes no memory.
        for stretches, value in zip(self.stretches, values, strict=True):
            start = 0
            for rows in stretches:
                stop = start + len(rows)
                yield slice(rows.start, rows.stop, rows.step), value[:, start:stop]
                start = stop


Lanes: TypeAlias = Even | Scattered


def lanes_of(stretches: Sequence[tuple[range, ...]]) -> Lanes:
    """Return lanes of equal length, as views if they lie evenly."""
    first = stretches[0][0]
    if any(len(lane) != 1 for lane in stretches):
        return Scattered(tuple(stretches))
    starts = [lane[0].start for lane in stretches]
    hop = starts[1] - starts[0] if len(starts) > 1 else 0
    even = all(
        lane[0].step == first.step and start == starts[0] + hop * i
        for i, (start, lane) in enumerate(zip(starts, stretches, strict=True))
    )
    if not even or hop < 0:
        return Scattered(tuple(stretches))
    return Even(starts[0], hop, first.step, len(starts), len(first))
