"""What a call holds in memory at its worst moment, part by part."""

from dataclasses import dataclass
from textwrap import fill
from typing import Final, Literal, TypeAlias, final

from attncost.core.notebook import as_html
from attncost.core.units import show

Part: TypeAlias = Literal[
    "parameters", "buffers", "inputs", "gradients", "optimizer", "activations", "temporaries"
]

PARTS: Final[tuple[Part, ...]] = (
    "parameters",
    "buffers",
    "inputs",
    "gradients",
    "optimizer",
    "activations",
    "temporaries",
)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Footprint:
    """The memory of one call, in bytes.

    Attributes:
        name: The class of what was called.
        device: The device that it would run on.
        by_part: What is live at the peak: `parameters`, `buffers` and `inputs` were there before;
            `gradients` belong to parameters; `optimizer` is its state; `activations` are kept by
            the forward pass for the backward pass, its output included; `temporaries` are all
            the rest, scratch inside operations included.
        kept: Bytes that the forward pass leaves behind, by the module that made them.
        phase: When the peak is: `forward`, `backward` or `step`, that of the optimizer.
        module: The module that runs at the peak.
        operation: The operation that runs at the peak.
        at_least: Why the peak may be higher; empty if it is exact.
    """

    _repr_html_ = as_html

    name: str
    device: str
    by_part: dict[Part, int]
    kept: dict[str, int]
    phase: str
    module: str
    operation: str
    at_least: tuple[str, ...] = ()

    @property
    def peak(self) -> int:
        """The most bytes that are live at once; at least so many, unless `exact`."""
        return sum(self.by_part.values())

    @property
    def resident(self) -> int:
        """What is there before the call: parameters, buffers, inputs, state of an optimizer."""
        parts: tuple[Part, ...] = ("parameters", "buffers", "inputs", "optimizer")
        return sum(self.by_part[part] for part in parts)

    @property
    def above(self) -> int:
        """The peak beyond what was there before, which a memory monitor would measure."""
        return self.peak - self.resident

    @property
    def exact(self) -> bool:
        """Whether the peak is the allocator's, and not only a lower bound."""
        return not self.at_least

    def __str__(self) -> str:
        word = "exactly" if self.exact else "at least"
        lines = [f"{self.name} on {self.device}: peak {word} {show(self.peak, 'bytes')}"]
        lines += [
            f"  {part:<12} {show(self.by_part[part], 'bytes'):>10} {self._share(part):>8}"
            for part in PARTS
            if self.by_part[part]
        ]
        where = f" of {self.module}" if self.module else ""
        lines.append(f"  when: {self.phase}{where}, {self.operation or 'before any operation'}")
        lines += [f"  note: {reason}" for reason in self.at_least]
        return "\n".join(fill(line, 80, subsequent_indent="    ") for line in lines)

    def _share(self, part: Part) -> str:
        return show(self.by_part[part] / self.peak, "percent")
