"""One cell of `benchmarks.kernels`: all contestants at one length, in one type and direction.

Every contestant is there at least three rounds. After that a peer that takes half as long again as
attncost is visited no more, since it cannot be the one that attncost must not be slower than.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, final

import torch
from benchmarks.peers import OURS, Entrant, columns, entrant, judged
from torch import Tensor

from attncost.measure.clocks.interface import Clock, Run
from attncost.measure.sweep.interleaved import Ratio, Samples, interleave, ratio

DTYPES: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_ALL: Final = 3
_OUT_OF_REACH: Final = 1 / 1.5

# The longest sequence at which a subject or a column is timed, forward and with backward: beyond it
# a round costs more than it tells. 32 documents need some tokens each;
# a sequence of one block would cost flex one more compilation.
_LONGEST: Final = {
    "full": (8192, 2048),
    "causal": (16384, 8192),
    "layer": (4096, 2048),
    "documents": (8192, 8192),
    "+mask": (16384, 4096),
    "flex": (8192, 0),
    "local": (16384, 16384),
}
_LONGEST_BFLOAT16: Final = (8192, 4096)
_SHORTEST: Final = {"documents": 2048, "flex": 256}


@final
@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """A row of cells in the tables.

    Attributes:
        dtype: The name of the type.
        backward: Whether gradients are computed too.
        length: Tokens.
    """

    dtype: str
    backward: bool
    length: int

    @property
    def direction(self) -> str:
        """Name it."""
        return "forward + backward" if self.backward else "forward"

    def has(self, name: str) -> bool:
        """Say whether a subject or a column is timed here."""
        most = _LONGEST.get(name, (1 << 20, 1 << 20))[self.backward]
        if self.dtype == "bfloat16":
            most = min(most, _LONGEST_BFLOAT16[self.backward])
        return _SHORTEST.get(name, 0) <= self.length <= most


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What a cell says of one subject.

    Attributes:
        seconds: The median time of attncost.
        ratios: Its time as a multiple of each column's.
    """

    seconds: float
    ratios: Mapping[str, Ratio]

    def best(self, subject: str) -> tuple[str, Ratio] | None:
        """Return the fastest peer for the same numbers, if there is one."""
        peers = [item for item in self.ratios.items() if judged(subject, item[0])]
        return max(peers, key=lambda item: item[1].figure, default=None)


@final
class Contest:
    """All contestants of one cell."""

    __slots__ = ("_always", "_rivals", "calls", "cell")

    def __init__(
        self,
        cell: Cell,
        subjects: Iterable[str],
        *,
        without: Collection[str],
        always: Collection[tuple[str, str]],
    ) -> None:
        """Make all of them ready.

        Args:
            cell: Where.
            subjects: What to compute.
            without: Columns that are left out, of all subjects or of one.
            always: Subjects and columns whose ratio is wanted from all rounds.
        """
        self.cell, self.calls = cell, dict[str, Run]()
        self._rivals = {
            subject: [column for column in columns(subject, without) if cell.has(column)]
            for subject in subjects
            if cell.has(subject)
        }
        self._always = {
            name
            for subject, column in always
            if column in self._rivals.get(subject, ())
            for name in (f"{subject}: {OURS}", _name(subject, column))
        }
        for subject, rivals in self._rivals.items():
            for column in (OURS, *rivals):
                name = _name(subject, column)
                if name not in self.calls:
                    one = entrant(subject, column, cell.length, DTYPES[cell.dtype])
                    self.calls[name] = call(one, backward=cell.backward)

    def run(self, clock: Clock, rounds: int) -> tuple[dict[str, Found], Samples]:
        """Time them, and return what was found of each subject."""
        samples = interleave(self.calls, clock, rounds=rounds, wanted=self._wanted)
        return {subject: self._found(subject, samples) for subject in self._rivals}, samples

    def _wanted(self, samples: Samples) -> Collection[str]:
        if min(map(len, samples.values()), default=0) < _ALL:
            return samples.keys()
        wanted = set(self._always)
        for subject, rivals in self._rivals.items():
            ours = f"{subject}: {OURS}"
            for column in rivals:
                name = _name(subject, column)
                if judged(subject, column) and ratio(samples, ours, name).figure >= _OUT_OF_REACH:
                    wanted |= {ours, name}
        return wanted

    def _found(self, subject: str, samples: Samples) -> Found:
        ours = f"{subject}: {OURS}"
        times = sorted(samples[ours].values())
        return Found(
            seconds=times[len(times) // 2],
            ratios={
                column: ratio(samples, ours, _name(subject, column))
                for column in self._rivals[subject]
            },
        )


def call(one: Entrant, *, backward: bool) -> Run:
    """Return what is timed: the output alone, or the gradients of all inputs as well."""
    if not backward:

        def forward() -> Tensor:
            with torch.no_grad():
                return one.attend(*one.inputs)

        return forward
    leaves = [x.detach().requires_grad_() for x in one.inputs]
    with torch.no_grad():
        gradient = torch.randn_like(one.attend(*leaves))

    def both() -> tuple[Tensor, ...]:
        return torch.autograd.grad(one.attend(*leaves), leaves, gradient)

    return both


def _name(subject: str, column: str) -> str:
    """Name a contestant; those that take the same time whatever is read are one."""
    if column in ("causal", "+mask"):
        return f"SDPA, {column}"
    return f"{subject}: {column}"
