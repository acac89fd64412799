"""The page of a pattern, made from its file, and the overview of them all.

Nothing here names a pattern.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

import page_parts
import sympy
import torch

from attncost import patterns
from attncost.core.counts import Count, is_counted, symbol
from attncost.core.dims import Dims
from attncost.core.formula import for_long, same
from attncost.core.formula import text as formula_text
from attncost.core.units import show
from attncost.draw.markup import element, escaped
from attncost.draw.sampled import sampled
from attncost.kernels.choose import best
from attncost.mechanisms.spelling import known
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern

_LENGTHS: Final = (1024, 4096, 16384)
_CLOSE, _FAR = 64, 1024
_HEADS, _HEAD_DIM = 8, 64


@final
@dataclass(frozen=True)
class Page:
    """What the file of one pattern says, and what follows from it."""

    name: str

    @cached_property
    def kind(self) -> type[Pattern]:
        """The class in the file."""
        return patterns.load(self.name)

    @cached_property
    def usual(self) -> Pattern:
        """The pattern without parameters, or the first example of one that needs some."""
        return self.kind() if self.name in known() else self.kind.examples()[0]

    @cached_property
    def pictured(self) -> tuple[Pattern, int]:
        """The one to be known by, and at which length: where there is most to see.

        Either the usual one among 1,024 tokens, or one among 64 whose parameters fit so few and
        switch nothing off that is there usually.
        """
        usual = page_parts.sizes(self.usual)
        fitting = [
            (one, _CLOSE)
            for one in (self.usual, *self.kind.examples())
            if all(bool(size) >= bool(usual[key]) for key, size in page_parts.sizes(one).items())
            and all(
                size < _CLOSE for size in page_parts.sizes(one).values() if isinstance(size, int)
            )
        ]
        return max((*fitting, (self.usual, _FAR if usual else _CLOSE)), key=_to_see)

    @property
    def said(self) -> str:
        """The docstring of the file."""
        return page_parts.said(self.kind)

    @property
    def grows(self) -> str:
        """The complexity that the docstring states."""
        return page_parts.grows(self.said)

    @property
    def pairs(self) -> str:
        """The formula of the usual pattern, for as many keys as queries."""
        n = symbol("n")
        formula = self.usual.pairs(n, n)
        if is_counted(formula):
            return "counted; no one formula holds for every n"
        long = for_long(formula)
        even, divisor = _without_rounding(long)
        lengths = "" if same(long, formula) else "long "
        lengths += f"n that {divisor:,} divides" if divisor > 1 else "n" if lengths else ""
        return formula_text(even) + (f", for {lengths}" if lengths else "")

    @property
    def markdown(self) -> str:
        """The whole page."""
        return "\n\n".join(
            (
                f"# {self.name}",
                page_parts.with_advice(self.said),
                "\n".join(self._pictures()),
                "## What it costs",
                self._cost(),
                "## Parameters",
                "\n".join(page_parts.parameters(self.kind)) or "It has none.",
                "## How to write it",
                self._written(),
                "## Source",
                f"{page_parts.linked(self.kind.source)}. The whole pattern is one file, "
                f"{page_parts.file_of(self.kind)}.",
            )
        )

    def _pictures(self) -> Iterator[str]:
        yield '<div class="pictures">'
        yield figure(*self.pictured)
        if page_parts.sizes(self.usual) and self.pictured != (self.usual, _FAR):
            yield figure(self.usual, _FAR)
        yield "</div>"

    def _cost(self) -> str:
        lines = [
            f"`{called(self.usual)}`, {_HEADS} heads of {_HEAD_DIM} features, one sequence, "
            "forward: attention itself, without the projections around it. A multiply-add is 2 "
            "FLOPs. *Useful* are the pairs that the pattern reads, *executed* is what the best "
            "kernel multiplies.",
            "",
            f"Pairs of n queries and n keys: {self.pairs}.",
            "",
            "| tokens | useful | executed | by kernel | full attention | executed, of full |",
            "|--:|--:|--:|:--|--:|--:|",
        ]
        # What is not made of numbers has a rule, and that is asked for every pair.
        for length in _LENGTHS if self.name in known() else _LENGTHS[:-1]:
            dims = Dims(heads=_HEADS, length=length, head_dim=_HEAD_DIM)
            kernel = best(self.usual, dims)
            cost, full = kernel.cost(self.usual, dims), best(Full(), dims).cost(Full(), dims)
            cells = (
                f"{length:,}",
                show(cost.useful, "flops"),
                show(cost.executed, "flops"),
                page_parts.name_of(type(kernel)),
                show(full.useful, "flops"),
                show(cost.executed / full.useful, "percent"),
            )
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join(lines)

    def _written(self) -> str:
        return "\n".join(
            (
                "```python",
                "import attncost as ac",
                "",
                f"out = ac.attention(q, k, v, {called(self.usual)})",
                "```",
                "",
                *self._commands(),
            )
        )

    def _commands(self) -> Iterable[str]:
        if self.name not in known():
            return ("Its parameters are no numbers, so the command line cannot spell it.",)
        sizes = ",".join(
            f"{key}={size}" for key, size in page_parts.sizes(self.usual).items() if size
        )
        return "```sh", f"attncost derive {self.name}{sizes and f':{sizes}'}", "```"


def overview(pages: Iterable[Page]) -> str:
    """Return the page with all pictures and what each pattern costs."""
    pages = tuple(pages)
    pictures = (figure(*page.pictured, link=page.name) for page in pages)
    rows = (
        f"| [{page.name}]({page.name}.md) | {page.grows} "
        f"| {show(page.usual.density(_FAR), 'percent')} | {page.pairs} |"
        for page in pages
    )
    return "\n".join(
        (
            "# Patterns",
            "",
            "A pattern says which keys each query reads; what is read is computed exactly. Each is "
            "one file, and these pages are made from the files. A coloured cell is a pair that is "
            "read: queries run down, keys to the right.",
            "",
            '<div class="pictures">',
            *pictures,
            "</div>",
            "",
            "## Side by side",
            "",
            "With the parameters that a pattern has if none are given. Pairs are those of n "
            f"queries and n keys; the share is that of {_FAR:,} tokens.",
            "",
            "| pattern | time | share | pairs |",
            "|:--|:--|--:|:--|",
            *rows,
            "",
            "`a & b`, `a | b` and `~a` are patterns too: what both read, what either reads, and "
            "all else.",
        )
    )


def figure(pattern: Pattern, length: int, *, link: str = "") -> str:
    """Return the picture of a pattern with its name below."""
    caption = f"{element('code', escaped(called(pattern)))} at {length:,} tokens"
    if link:
        caption = (
            element("a", escaped(link), href=f"{link}.html")
            + f" {element('code', escaped(called(pattern)))}"
        )
    return element("figure", pattern.svg(length), element("figcaption", caption))


def _to_see(picture: tuple[Pattern, int]) -> float:
    """Return more for more borders around what is read, and for as much inside as outside."""
    pattern, length = picture
    grid = sampled(pattern.allowed, length, length, most=(_CLOSE, _CLOSE))
    shares = torch.tensor(grid.shares)
    borders = sum(float(shares.diff(dim=axis).abs().sum()) for axis in (0, 1))
    return borders * grid.share * (1 - grid.share)


def _without_rounding(formula: Count) -> tuple[Count, int]:
    """Return what a formula is for the lengths that need no rounding up, and what divides those."""
    n, whole = symbol("n"), sympy.sympify(formula)
    rounded = whole.atoms(sympy.ceiling)
    if not all(up.args[0].is_polynomial(n) for up in rounded):
        return formula, 1
    divisor = math.lcm(*(int(up.args[0].coeff(n).q) for up in rounded))
    at_0 = {up: up.args[0] - up.args[0].subs(n, 0) + up.subs(n, 0) for up in rounded}
    return sympy.expand(whole.subs(at_0)), divisor


def called(pattern: Pattern) -> str:
    """Return how a pattern is written in Python."""
    return page_parts.called(pattern, "pattern")
