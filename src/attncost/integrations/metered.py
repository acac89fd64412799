"""What steps of training cost and how fast they went, with the convention of every figure.

    exact   FLOPs of the real sequences and documents, each with the pairs that it reads
    half    of the rows as they lie in memory, attention without a mask halved
    dense   of the rows as they lie in memory, attention without a mask

    MFU = FLOPs of a convention / (seconds * peak)

`dense` counts twice what a causal model reads and so may exceed 100 %. None of them counts what is
computed again for the backward pass; `hfu` does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import isfinite
from operator import add
from statistics import median
from typing import Any, Final, final

from attncost.core.units import show

SCHEMA: Final = "attncost.step/1"
CONVENTIONS: Final = ("exact", "half", "dense")
_ADDED: Final = ("steps", "seconds", "tokens", "slots", "exact", "half", "dense", "attention")
_HEAD: Final = ("step", "tokens", "padding", "time", "tokens/s", "attn")


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Metered:
    """One step, or several together.

    Attributes:
        step: The number of the last one, from 1.
        steps: How many.
        seconds: What they took.
        tokens: Of sequences and documents.
        slots: Tokens with padding.
        exact: FLOPs, as the head of this file says.
        half: The same.
        dense: The same.
        attention: The part of `exact` that is attention between the projections.
        again: FLOPs computed for each one counted; more than 1 with activation checkpointing.
        peak: FLOP/s of all devices that share these sequences; None if nobody said.
        largest_logit: Of the attention calls that were looked at; None if none was.
        notes: What must be known beside the numbers.
    """

    step: int
    steps: int = 1
    seconds: float
    tokens: int
    slots: int
    exact: int
    half: int
    dense: int
    attention: int
    again: float = 1.0
    peak: float | None = None
    largest_logit: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def flops(self) -> dict[str, int]:
        """FLOPs in every convention."""
        return {name: getattr(self, name) for name in CONVENTIONS}

    @property
    def mfu(self) -> dict[str, float | None]:
        """The share of the peak that model FLOPs take, in every convention; None without a peak."""
        able = None if self.peak is None else self.peak * self.seconds
        return {name: flops / able if able else None for name, flops in self.flops.items()}

    @property
    def hfu(self) -> dict[str, float | None]:
        """The same with what is computed again for the backward pass."""
        return {name: None if u is None else u * self.again for name, u in self.mfu.items()}

    @property
    def tokens_per_second(self) -> float:
        """Tokens without padding in a second."""
        return self.tokens / self.seconds if self.seconds else 0.0

    @property
    def attention_share(self) -> float:
        """Attention's part of the exact FLOPs."""
        return self.attention / self.exact if self.exact else 0.0

    @property
    def padding(self) -> float:
        """The share of slots that hold no token."""
        return 1 - self.tokens / self.slots if self.slots else 0.0

    def json(self) -> dict[str, Any]:
        """Return it as plain data; a logit that is not finite is None, and a note says so."""
        logit = self.largest_logit
        return {
            "schema": SCHEMA,
            "step": self.step,
            "steps": self.steps,
            "seconds": self.seconds,
            "tokens": self.tokens,
            "slots": self.slots,
            "flops": self.flops,
            "mfu": self.mfu,
            "hfu": self.hfu,
            "peak": self.peak,
            "tokens_per_second": self.tokens_per_second,
            "attention_share": self.attention_share,
            "largest_logit": logit if logit is not None and isfinite(logit) else None,
            "notes": list(self.notes),
        }

    def __add__(self, other: "Metered") -> "Metered":
        logits = [x.largest_logit for x in (self, other) if x.largest_logit is not None]
        return replace(
            other,
            **{name: getattr(self, name) + getattr(other, name) for name in _ADDED},
            largest_logit=max(logits, default=None),
            notes=tuple(dict.fromkeys(self.notes + other.notes)),
        )


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """Many steps.

    Attributes:
        sum: All of them together; its rates are those of the whole time.
        seconds: The median step.
        tokens_per_second: Its median over the steps.
        mfu: Medians in every convention; None without a peak.
    """

    sum: Metered
    seconds: float
    tokens_per_second: float
    mfu: dict[str, float | None]

    @classmethod
    def of(cls, steps: Sequence[Metered]) -> "Totals":
        """Return the totals of one or more steps."""
        mfu = {
            name: [u for u in (step.mfu[name] for step in steps) if u is not None]
            for name in CONVENTIONS
        }
        return cls(
            sum=reduce(add, steps),
            seconds=median(step.seconds for step in steps),
            tokens_per_second=median(step.tokens_per_second for step in steps),
            mfu={name: median(found) if found else None for name, found in mfu.items()},
        )

    def json(self) -> dict[str, Any]:
        """Return them as plain data."""
        medians = {
            "seconds": self.seconds,
            "tokens_per_second": self.tokens_per_second,
            "mfu": self.mfu,
        }
        return {"sum": self.sum.json(), "median": medians}


def table(steps: Iterable[Metered], totals: Totals) -> str:
    """Write steps, their median and their sum in 80 columns; MFU, or FLOPs without a peak."""
    logit = ("logit",) if totals.sum.largest_logit is not None else ()
    head = [*_HEAD, *CONVENTIONS, *logit]
    rows = [_cells(str(step.step), step)[: len(head)] for step in steps]
    middle = ["median", "", "", show(totals.seconds, "seconds")]
    middle += [show(totals.tokens_per_second, "count"), "", *_shares(totals.mfu)]
    every = _cells("sum", totals.sum)[: len(head)]
    return _aligned([head, *rows, [*middle, ""][: len(head)], every])


def _cells(name: str, step: Metered) -> list[str]:
    flops = [show(n, "flops").removesuffix("FLOPs") for n in step.flops.values()]
    logit = "" if step.largest_logit is None else f"{step.largest_logit:.3g}"
    return [
        name,
        show(step.tokens, "count"),
        show(step.padding, "percent"),
        show(step.seconds, "seconds"),
        show(step.tokens_per_second, "count"),
        show(step.attention_share, "percent"),
        *(flops if step.peak is None else _shares(step.mfu)),
        logit,
    ]


def _shares(mfu: Mapping[str, float | None]) -> list[str]:
    return ["" if u is None else show(u, "percent") for u in mfu.values()]


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (" ".join(map(str.rjust, row, widths)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
