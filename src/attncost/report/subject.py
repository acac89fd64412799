"""A model that was counted, and in which setting."""

from dataclasses import dataclass
from typing import Final, final

from attncost.cost.configuration import Configuration
from attncost.cost.counting.counted import Counted
from attncost.cost.difference import Owned

TOTALS: Final = ("useful", "dense", "executed", "elementwise", "bytes")


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """A model that was counted.

    Attributes:
        name: What it is called.
        counted: The count.
        owned: What every module costs by itself.
        length: Tokens of a sequence; None if its inputs have sizes of their own.
        batch: Sequences; None likewise.
        training: Whether the backward pass was counted, too.
        configuration: Its sizes, if they are understood.
        kv_bytes_per_token: Bytes of keys and values in a cache of 16-bit numbers; None without
            one, or if its kind is not known.
        command: What counts it.
    """

    name: str
    counted: Counted
    owned: Owned
    length: int | None
    batch: int | None
    training: bool
    configuration: Configuration | None = None
    kv_bytes_per_token: int | None = None
    command: str = ""

    @property
    def sizes(self) -> str:
        """How long and in which direction, in words."""
        passes = "forward and backward" if self.training else "forward"
        if self.length is None or self.batch is None:
            return f"its own inputs, {passes}"
        batch = "one sequence" if self.batch == 1 else f"{self.batch:,} sequences"
        return f"{batch} of {self.length:,} tokens, {passes}"

    @property
    def totals(self) -> dict[str, int]:
        """All totals by name."""
        found = {name: int(getattr(self.counted, name)) for name in TOTALS}
        return {"parameters": self.counted.parameters, **found}
