"""The page of a mechanism or a formula, made from its file, and the overview of them all.

Nothing here names one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

import page_parts

from attncost import mechanisms
from attncost.core.dims import Dims
from attncost.core.formula import text as formula_text
from attncost.core.units import show
from attncost.cost.block import BlockSizes, core_cost
from attncost.cost.derivation import Derivation, derive
from attncost.mechanisms import formulas
from attncost.mechanisms.interface import Mechanism, Priced
from attncost.mechanisms.spelling import spelling
from attncost.nn.learned import needs_length
from attncost.patterns.full import Full

_LENGTHS: Final = (1024, 4096, 16384)
_DERIVED: Final = 4096
_BLOCK: Final = BlockSizes(d_model=512, heads=8)
_EXECUTED: Final = (
    "A multiply-add is 2 FLOPs. *Useful* is what the definition multiplies, *executed* what is "
    "multiplied to compute it, padding and masked pairs included."
)


def names() -> tuple[str, ...]:
    """Return the names of all mechanisms, then of all formulas."""
    return (*mechanisms.names(), *formulas.names())


@final
@dataclass(frozen=True)
class Page:
    """What the file of one mechanism or formula says, and what follows from it."""

    name: str

    @cached_property
    def kind(self) -> type[Priced]:
        """The class in the file."""
        home = mechanisms if self.runs else formulas
        return home.load(self.name)

    @property
    def runs(self) -> bool:
        """Whether it can be run, too."""
        return self.name in mechanisms.names()

    @cached_property
    def usual(self) -> Priced:
        """The one without parameters."""
        return self.kind()

    @property
    def said(self) -> str:
        """The docstring of the file."""
        return page_parts.said(self.kind)

    @property
    def grows(self) -> str:
        """The complexity that the docstring states."""
        return page_parts.grows(self.said)

    @cached_property
    def derivation(self) -> Derivation:
        """What a layer of it costs."""
        return derive(self.usual, _BLOCK, length=_DERIVED)

    @property
    def of_full(self) -> float:
        """The FLOPs that it executes over those of full attention, between the projections."""
        executed = core_cost(self.usual, _BLOCK, length=_DERIVED).executed
        return float(executed / core_cost(Full(), _BLOCK, length=_DERIVED).useful)

    @property
    def written(self) -> str:
        """How it is written in Python."""
        return page_parts.called(self.usual, "mechanism" if self.runs else "formula")

    @property
    def markdown(self) -> str:
        """The whole page."""
        return "\n\n".join(
            (
                f"# {self.name}",
                page_parts.with_advice(self.said),
                *([] if self.runs else ["It has a price here, and nothing that runs it."]),
                "## What it costs",
                "\n".join(self._cost()),
                "## Step by step",
                "\n".join(self._steps()),
                "## Parameters",
                "\n".join(page_parts.parameters(self.kind)) or "It has none.",
                "## How to write it",
                "\n".join(self._code()),
                "## Source",
                f"{page_parts.linked(self.kind.source)}. Its file is "
                f"{page_parts.file_of(self.kind)}.",
            )
        )

    def _cost(self) -> Iterator[str]:
        yield (
            f"`{self.written}`, {_BLOCK.heads} heads of {_BLOCK.head_dim} features, one sequence, "
            f"forward: between the projections alone. {_EXECUTED}"
        )
        yield ""
        yield "| tokens | useful | executed | full attention | executed, of full |"
        yield "|--:|--:|--:|--:|--:|"
        for length in _LENGTHS:
            cost, full = (core_cost(one, _BLOCK, length=length) for one in (self.usual, Full()))
            cells = (
                f"{length:,}",
                show(cost.useful, "flops"),
                show(cost.executed, "flops"),
                show(full.useful, "flops"),
                show(cost.executed / full.useful, "percent"),
            )
            yield f"| {' | '.join(cells)} |"

    def _steps(self) -> Iterator[str]:
        one = self.derivation
        yield (
            f"A whole layer at d = {_BLOCK.d_model} features of a token, h = {_BLOCK.heads} heads "
            f"and n = {_DERIVED:,} tokens; {self._wins()}. Useful FLOPs, for long n; elementwise "
            "operations are counted apart."
        )
        yield ""
        yield "| step | formula | FLOPs | elementwise |"
        yield "|:--|:--|--:|--:|"
        for step in one.steps:
            cells = (f"{step.count:,}", "") if step.matrix else ("", f"{step.count:,}")
            yield f"| {step.name} | {formula_text(step.long)} | {' | '.join(cells)} |"
        totals = f"{one.cost.useful:,} | {one.cost.elementwise:,}"
        yield f"| **total** | {formula_text(one.long)} | {totals} |"

    def _wins(self) -> str:
        first = self.derivation.cheaper_than_full_from
        if first is None:
            return "it never takes fewer FLOPs than full attention"
        return f"it takes fewer FLOPs than full attention from n = {first:,}"

    def _code(self) -> Iterator[str]:
        yield "```python"
        yield "import attncost as ac"
        yield ""
        if isinstance(self.usual, Mechanism):
            long = needs_length(self.usual, Dims(heads=8, length=_LENGTHS[0], head_dim=64))
            length = f", length={_LENGTHS[0]}" if long else ""
            yield f"layer = ac.nn.Attention(512, heads=8, attention={self.written}{length})"
        else:
            yield f"cost = ac.layer_cost({self.written}, d_model=512, heads=8, length=4096)"
        yield "```"
        yield ""
        yield "```sh"
        yield f"attncost derive {spelling(self.usual)}"
        yield "```"


def overview(pages: Iterable[Page]) -> str:
    """Return the page that compares them all."""
    head = (
        f"| name | time | executed at {_DERIVED:,}, of full | fewer FLOPs than full from |",
        "|:--|:--|--:|--:|",
    )
    rows: dict[bool, list[str]] = {True: [], False: []}
    for page in pages:
        wins = page.derivation.cheaper_than_full_from
        rows[page.runs].append(
            f"| [{page.name}]({page.name}.md) | {page.grows} | {show(page.of_full, 'percent')} "
            f"| {f'{wins:,} tokens' if wins else ''} |"
        )
    return "\n".join(
        (
            "# Mechanisms",
            "",
            "A mechanism takes the place of softmax attention and computes something else: what "
            "that loses has to be measured. Each is one file, and these pages are made from the "
            f"files. Costs are those between the projections, {_BLOCK.heads} heads of "
            f"{_BLOCK.head_dim} features, with the parameters that one has if none are given. "
            f"{_EXECUTED}",
            "",
            "## What runs",
            "",
            *(*head, *rows[True]),
            "",
            "## Formulas only",
            "",
            "What others propose, with a price here and nothing that runs it.",
            "",
            *(*head, *rows[False]),
        )
    )
