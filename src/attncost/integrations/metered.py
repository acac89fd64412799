"""What steps of training cost and how fast they went, with the convention of every figure.

    exact   FLOPs of the real sequences and documents, each with the pairs that it reads
    half    of the rows as they lie in memory, attention without a mask halved
    dense   of the rows as they lie in memory, attention without a mask

    MFU = FLOPs of a convention / (seconds * peak)

`dense` counts twice what a causal model reads and so may exceed 100 %. None of them counts what is
computed again for the backward pass; `hfu` does.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import inf, isfinite
from numbers import Real
from operator import add
from statistics import median
from typing import Any, Final, final

from attncost.core.errors import ShapeError
from attncost.core.units import show
from attncost.cost.utilisation import shares_of_peak

SCHEMA: Final = "attncost.step/1"
CONVENTIONS: Final = ("exact", "half", "dense")
_ADDED: Final = ("steps", "seconds", "tokens", "slots", "exact", "half", "dense", "attention")
_LONGEST: Final = {"count": 6, "seconds": 9, "logit": 7}
_EXPONENT: Final = re.compile(r"e\+?(-?)0?")
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
        again: FLOPs that are computed again for the backward pass, in the order `exact`, `half`,
            `dense`; activation checkpointing is such.
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
    again: tuple[int, ...] = (0, 0, 0)
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
        return self._shares(self.flops)

    @property
    def hfu(self) -> dict[str, float | None]:
        """The same with what is computed again for the backward pass."""
        again = zip(self.flops.items(), self.again, strict=True)
        return self._shares({name: flops + more for (name, flops), more in again})

    def _shares(self, flops: dict[str, int]) -> dict[str, float | None]:
        if not (self.peak and self.seconds):
            return dict.fromkeys(flops)
        return {**shares_of_peak(flops, seconds=self.seconds, peak=self.peak)}

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens without padding in a second; None if it took none."""
        return self.tokens / self.seconds if self.seconds else None

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
            again=tuple(map(add, self.again, other.again)),
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
        tokens_per_second: Its median over the steps that took time; None if none did.
        mfu: Medians of these in every convention; None without a peak.
    """

    sum: Metered
    seconds: float
    tokens_per_second: float | None
    mfu: dict[str, float | None]

    @classmethod
    def of(cls, steps: Sequence[Metered]) -> "Totals":
        """Return the totals of one or more steps."""
        return cls(
            sum=reduce(add, steps),
            seconds=median(step.seconds for step in steps),
            tokens_per_second=_median(step.tokens_per_second for step in steps),
            mfu={name: _median(step.mfu[name] for step in steps) for name in CONVENTIONS},
        )

    def json(self) -> dict[str, Any]:
        """Return them as plain data."""
        medians = {
            "seconds": self.seconds,
            "tokens_per_second": self.tokens_per_second,
            "mfu": self.mfu,
        }
        return {"sum": self.sum.json(), "median": medians}


def rate_of(peak: float | None) -> float | None:
    """Return a peak as a float.

    Raises:
        ShapeError: If it is no positive number.
    """
    if peak is None:
        return None
    number: object = peak  # of any type, where nobody checks types
    if isinstance(number, bool) or not isinstance(number, Real) or not 0 < peak < inf:
        raise ShapeError(f"peak must be a number of FLOP/s such as 312e12, got {peak!r}.")
    return float(peak)


def passes_in_words(model: int, again: float, *, counted: bool) -> str:
    """Say what a step computes; `counted` if its cost is that of forward and backward together.

    >>> passes_in_words(3, 1.0, counted=False)
    'forward and backward (3 x forward), 1 x forward computed again'
    """
    if counted:
        times = "" if model == 1 else f"{model} x "
        words = f"{times}forward and backward, as counted"
    else:
        known = {1: "forward alone", 3: "forward and backward (3 x forward)"}
        words = known.get(model, f"{model} x forward")
    return words + (f", {again:g} x forward computed again" if again else "")


def table(steps: Iterable[Metered], totals: Totals) -> str:
    """Write steps, their median and their sum in 80 columns; MFU, or FLOPs without a peak."""
    logit = ("logit",) if totals.sum.largest_logit is not None else ()
    head = [*_HEAD, *CONVENTIONS, *logit]
    rows = [_cells(str(step.step), step)[: len(head)] for step in steps]
    middle = ["median", "", "", _short(totals.seconds, "seconds")]
    middle += [_short(totals.tokens_per_second, "count"), "", *_shares(totals.mfu)]
    every = _cells("sum", totals.sum)[: len(head)]
    return _aligned([head, *rows, [*middle, ""][: len(head)], every])


def _cells(name: str, step: Metered) -> list[str]:
    flops = [_short(n, "count") for n in step.flops.values()]
    return [
        name,
        _short(step.tokens, "count"),
        show(step.padding, "percent"),
        _short(step.seconds, "seconds"),
        _short(step.tokens_per_second, "count"),
        show(step.attention_share, "percent"),
        *(flops if step.peak is None else _shares(step.mfu)),
        _short(step.largest_logit, "logit"),
    ]


def _shares(mfu: Mapping[str, float | None]) -> list[str]:
    return [_short(share, "percent") for share in mfu.values()]


def _short(value: float | None, unit: str) -> str:
    """Write a number of any size, so short that a million steps fit into 80 columns."""
    if value is None:
        return ""
    if unit == "percent":
        # A peak in the wrong unit makes millions of per cent; how many is of no matter.
        return show(value, unit) if value < 10 else ">999 %"
    text = f"{value:.3g}" if unit == "logit" else show(value, unit)
    if len(text) <= _LONGEST[unit]:
        return text
    few = _EXPONENT.sub(r"e\1", f"{value:.1e}")
    return f"{few} s" if unit == "seconds" else few


def _median(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return median(found) if found else None


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (" ".join(map(str.rjust, row, widths)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
