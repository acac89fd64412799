"""Which blocks of memory were live when: a log of what was handed out and given back.

    live = blocks handed out and not yet given back;  peak = max of live + scratch

The most is remembered with its place in the log, so that what was live then can be told apart
once the call has ended and it is known what became of each block.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final, final


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """A place in the log, and what went on there.

    Attributes:
        at: Entries of the log until then.
        live: Bytes of all blocks that are live.
        scratch: Bytes that the operation holds inside.
        phase: Forward, backward or step.
        module: The module that runs.
        operation: What it runs.
    """

    at: int = 0
    live: int = 0
    scratch: int = 0
    phase: str = "forward"
    module: str = ""
    operation: str = ""


@final
class Log:
    """What a device's allocator would see.

    Attributes:
        peak: The first moment at which most is live.
        left: Entries of the log when the forward pass ended.
    """

    def __init__(self, granularity: int) -> None:
        """Begin an empty log.

        Args:
            granularity: Bytes of which every block is a multiple.
        """
        self.peak, self.left = Moment(), 0
        self._granularity: Final = granularity
        # Of each block, by number.
        self._sizes: list[int] = []
        self._modules: list[str] = []
        # The number of a block that is handed out; given back it is -1 less that number.
        self._entries: list[int] = []
        self._live = 0

    def rounded(self, size: int) -> int:
        """Return what a block of so many bytes takes."""
        return -(-size // self._granularity) * self._granularity

    def size(self, number: int) -> int:
        """Return the bytes of a block."""
        return self._sizes[number]

    def handed_out(self, size: int, module: str) -> int:
        """Note a new block, and return its number."""
        number, size = len(self._sizes), self.rounded(size)
        self._sizes.append(size)
        self._modules.append(module)
        self._entries.append(number)
        self._live += size
        return number

    def given_back(self, number: int) -> None:
        """Note the end of a block."""
        self._entries.append(-1 - number)
        self._live -= self._sizes[number]

    def moment(self, scratch: int, *, phase: str, module: str, operation: str) -> None:
        """Note what an operation holds while it runs, its results handed out already."""
        if self._live + scratch > self.peak.live + self.peak.scratch:
            self.peak = Moment(
                at=len(self._entries),
                live=self._live,
                scratch=scratch,
                phase=phase,
                module=module,
                operation=operation,
            )

    def forward_ends(self) -> None:
        """Note that what is live now was kept by the forward pass."""
        self.left = len(self._entries)

    def kept(self) -> dict[str, int]:
        """Return the bytes that were live when the forward pass ended, by module."""
        found: Counter[str] = Counter()
        for number in self.live_at(self.left):
            found[self._modules[number]] += self._sizes[number]
        return {module: size for module, size in found.items() if size}

    def bytes_of(self, numbers: set[int]) -> int:
        """Return the bytes of some blocks."""
        return sum(self._sizes[number] for number in numbers)

    def live_at(self, at: int) -> set[int]:
        """Return the blocks that were live at a place."""
        live: set[int] = set()
        for entry in self._entries[:at]:
            if entry >= 0:
                live.add(entry)
            else:
                live.discard(-1 - entry)
        return live
