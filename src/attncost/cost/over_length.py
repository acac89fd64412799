"""The cost of any module at any length, from counting it at a few.

    FLOPs(n) = a + b n + c n (n - 1) / 2

Products with weights grow with the length, full and causal attention with its square, so three
lengths settle the formula and every further one must lie on it. Windows, blocks and anything else
that bends at some length do not, and are refused. Between the shortest and the longest length that
was counted the formula is exact; beyond them nothing is known, and it says so.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, TypeAlias, final

import numpy as np

from attncost.core.cost import Cost
from attncost.core.counts import Count, triangle
from attncost.core.errors import ShapeError
from attncost.core.notebook import as_html
from attncost.cost.counting.counted import CORE, Counted, Row, total

# Short ones on both sides of every small width, and a long one that no usual window covers.
_LENGTHS: Final = (1, 2, 3, 64, 16384)
_FIELDS: Final = ("useful", "executed", "dense")

_Rows: TypeAlias = Mapping[int, Sequence[Row]]


@final
@dataclass(frozen=True, slots=True)
class Quadratic:
    """A whole number at every length: `constant + slope n + bend n (n - 1) / 2`."""

    constant: int
    slope: int
    bend: int

    def __call__(self, n: Count) -> Count:
        """Return its value at a length, a symbol or many lengths."""
        return self.constant + self.slope * n + self.bend * triangle(n - 1)

    @classmethod
    def through(cls, points: Iterable[tuple[int, int]]) -> "Quadratic | None":
        """Return the one through three points; None if it is not whole at every length."""
        (x, fx), (y, fy), (z, fz) = points
        first = Fraction(fy - fx, y - x)
        bend = 2 * (Fraction(fz - fy, z - y) - first) / (z - x)
        slope = first - bend * Fraction(x + y - 1, 2)
        constant = fx - slope * x - bend * triangle(x - 1)
        found = (constant, slope, bend)
        return cls(*map(int, found)) if all(one.denominator == 1 for one in found) else None


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class OverLength:
    """What one sequence costs, exact from the shortest to the longest length that was counted.

    It has the FLOPs of `Configuration`; elementwise operations and bytes are left out. A product of
    two activations is taken for attention, as `Counted.attention_share` does.

    Attributes:
        name: What was counted.
        shortest: The first length that it is known for.
        longest: The last one.
        notes: Why totals are only "at least" or "at most"; empty if they are exact.
        core_flops: Formulas of attention's useful, executed and dense FLOPs.
        linear_flops: The same of all the rest.
        forward: The forward pass alone, if the backward pass was counted, too; else None.
    """

    _repr_html_ = as_html

    name: str
    shortest: int
    longest: int
    notes: tuple[str, ...]
    core_flops: tuple[Quadratic, ...]
    linear_flops: tuple[Quadratic, ...]
    forward: "OverLength | None" = None

    def core(self, length: Count) -> Cost:
        """Return what attention costs between the projections.

        Raises:
            ShapeError: If the length lies outside what was counted.
        """
        return self._at(self.core_flops, length)

    def linear(self, length: Count) -> Cost:
        """Return what all the rest costs.

        Raises:
            ShapeError: If the length lies outside what was counted.
        """
        return self._at(self.linear_flops, length)

    def _at(self, formulas: tuple[Quadratic, ...], length: Count) -> Cost:
        for n in () if hasattr(length, "free_symbols") else np.atleast_1d(length):
            if not self.shortest <= n <= self.longest:
                raise ShapeError(
                    f"{self.name} was counted from {self.shortest:,} to {self.longest:,} tokens, "
                    f"got {n:,}: give over_length lengths that reach further."
                )
        useful, executed, dense = (formula(length) for formula in formulas)
        return Cost(useful=useful, executed=executed, dense=dense)


def over_length(
    count_at: Callable[[int], Counted], *, lengths: Iterable[int] = _LENGTHS
) -> OverLength:
    """Count a module at a few lengths, and return its cost at all lengths between them.

    The cost is that of forward and backward together, if `count_at` counts both. On meta tensors a
    long sequence takes no longer than a short one.

    Args:
        count_at: Counts one sequence of the length that it is given.
        lengths: At least five. A window or block is noticed if one is longer and others shorter.

    Raises:
        ShapeError: If there are fewer lengths, or the counts are no polynomial of degree 2.
    """
    chosen = sorted(set(lengths))
    if len(chosen) < 5 or chosen[0] < 1:
        raise ShapeError(
            f"lengths must be five or more different ones, each at least 1, got {chosen}: three "
            "make the formula, and the others check it."
        )
    found = {n: count_at(n) for n in chosen}
    rows = {n: one.rows for n, one in found.items()}
    known = _known(found[chosen[0]].name, rows, _notes(found))
    if all(row.phase == "forward" for many in rows.values() for row in many):
        return known
    forward = {n: [row for row in many if row.phase == "forward"] for n, many in rows.items()}
    return replace(known, forward=_known(known.name, forward, known.notes))


def _known(name: str, rows: _Rows, notes: tuple[str, ...]) -> OverLength:
    steps = {row.step for many in rows.values() for row in many}
    return OverLength(
        name=name,
        shortest=min(rows),
        longest=max(rows),
        notes=notes,
        core_flops=_fitted(name, rows, CORE),
        linear_flops=_fitted(name, rows, steps.difference(CORE)),
    )


def _notes(found: Mapping[int, Counted]) -> tuple[str, ...]:
    least = (
        f"at least: {x.operation} has no price" for one in found.values() for x in one.unpriced
    )
    most = (f"at most: {reason}" for one in found.values() for reason in one.at_most)
    return tuple(dict.fromkeys((*least, *most)))


def _fitted(name: str, rows: _Rows, steps: Collection[str]) -> tuple[Quadratic, ...]:
    """Return the formulas of useful, executed and dense FLOPs that all counts of steps lie on."""
    costs = {n: total(row for row in many if row.step in steps) for n, many in rows.items()}
    what = f"of {' and '.join(sorted(steps)) or 'nothing'} in {name}"
    return tuple(
        _through([(n, int(getattr(cost, field))) for n, cost in costs.items()], f"{field} {what}")
        for field in _FIELDS
    )


def _through(points: list[tuple[int, int]], what: str) -> Quadratic:
    """Return the formula that all points lie on.

    Raises:
        ShapeError: If there is none; the message names the lengths that disagree.
    """
    fit = Quadratic.through(points[:3])
    apart = [n for n, flops in points if fit is None or fit(n) != flops]
    if fit is None or apart:
        settled = ", ".join(str(n) for n, _ in points[:3])
        where = ", ".join(f"{n:,}" for n in apart[-2:])
        raise ShapeError(
            f"the FLOPs that are {what} are no polynomial of degree 2: what {settled} tokens give "
            f"does not hold at {where}. Windows, blocks and positions that run out bend: use "
            "read_config, or count each length by itself."
        )
    return fit
