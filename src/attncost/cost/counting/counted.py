"""What a module was seen to cost: every operation, by module, step and phase."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, final

from attncost.core.cost import Cost
from attncost.core.notebook import as_html
from attncost.cost.counting.registry import ACTIVATIONS, ATTENTION

# Steps that are attention.
CORE: Final = (ATTENTION, ACTIVATIONS)

Phase: TypeAlias = Literal["forward", "backward", "recomputation"]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """Calls of one operation in one module.

    Attributes:
        module: The innermost module that made them, by its name; "" for the one that was counted.
        phase: Forward, backward, or forward again for a backward pass that kept nothing.
        step: `attention`, `weights` and `activations` (products with weights, and of two
            activations), `convolution`, `elementwise`, `movement`, or a word of the formula's own.
        operation: Its name, such as `aten::mm` or `scaled_dot_product_attention`.
        calls: How many.
        cost: Of all of them.
    """

    module: str
    phase: Phase
    step: str
    operation: str
    calls: int
    cost: Cost


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Unpriced:
    """Calls of an operation that no formula prices: what a total leaves out.

    Attributes:
        module: The innermost module that made them.
        operation: Its name.
        shapes: Of the tensors that it took.
        calls: How many, with these shapes.
    """

    module: str
    operation: str
    shapes: tuple[tuple[int, ...], ...]
    calls: int


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionRow:
    """Calls of attention of one size in one module, forward.

    Attributes:
        module: The innermost module that made them.
        function: What it called, such as `scaled_dot_product_attention`.
        shape: Batch, query heads, key heads, queries, keys, features of a key, of a value.
        useful: Pairs read by all calls together, over all sequences and heads; `executed` pairs
            multiplied, `dense` pairs without any mask.
        calls: How many.
        unknown: Why `useful` is only an upper bound; None if it is exact.
    """

    module: str
    function: str
    shape: tuple[int, int, int, int, int, int, int]
    useful: int
    executed: int
    dense: int
    calls: int
    unknown: str | None


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """What one call of a module costs.

    FLOPs are 2 per multiply-add of matrix products, convolutions and attention; all else is
    `elementwise`. `useful`, `dense` and `model` leave out recomputation, `executed` counts it.

    Attributes:
        name: What was counted.
        rows: Every priced operation.
        attention: Calls of attention, forward.
        unpriced: Operations without a formula, which every total leaves out.
        unknown: Why `useful` is only an upper bound, beside the reasons in `attention`.
        modules: The class of every module by name, in the order of the model; "" is the whole.
        parameters: How many numbers it learns, shared ones once.
    """

    _repr_html_ = as_html

    name: str
    rows: tuple[Row, ...]
    attention: tuple[AttentionRow, ...]
    unpriced: tuple[Unpriced, ...]
    unknown: tuple[str, ...] = ()
    modules: dict[str, str]
    parameters: int

    @property
    def forward(self) -> Cost:
        """The forward pass."""
        return total(row for row in self.rows if row.phase == "forward")

    @property
    def backward(self) -> Cost:
        """The backward pass, without what it computes again."""
        return total(row for row in self.rows if row.phase == "backward")

    @property
    def recomputation(self) -> Cost:
        """What was computed again for the backward pass."""
        return total(row for row in self.rows if row.phase == "recomputation")

    @property
    def model(self) -> Cost:
        """Forward and backward: what the mathematics asks for."""
        return self.forward + self.backward

    @property
    def useful(self) -> int:
        """FLOPs of the pairs that masks let through; an upper bound if `at_most` has a reason."""
        return int(total(self.rows).useful)

    @property
    def dense(self) -> int:
        """FLOPs without any mask."""
        return int(total(self.rows).dense)

    @property
    def executed(self) -> int:
        """FLOPs that the hardware multiplies, recomputation included."""
        return int(total(self.rows).executed)

    @property
    def elementwise(self) -> int:
        """Operations outside products, recomputation included."""
        return int(total(self.rows).elementwise)

    @property
    def bytes(self) -> int:
        """Bytes that all operations read and write, each for itself; recomputation included."""
        return int(total(self.rows).bytes)

    @property
    def intensity(self) -> float:
        """Executed FLOPs for each byte."""
        return self.executed / self.bytes if self.bytes else 0.0

    @property
    def at_least(self) -> bool:
        """Whether the totals leave something out."""
        return bool(self.unpriced)

    @property
    def at_most(self) -> tuple[str, ...]:
        """Why `useful` is only an upper bound; empty if it is exact."""
        rows = (row.unknown for row in self.attention if row.unknown)
        return tuple(dict.fromkeys((*rows, *self.unknown)))

    @property
    def by_module(self) -> dict[str, Cost]:
        """The cost of every module with all that is in it, in the order of the model."""
        return self._by_module(self.rows)

    @property
    def by_step(self) -> dict[str, Cost]:
        """The cost of every step, dearest first."""
        steps = {row.step for row in self.rows}
        found = {step: total(row for row in self.rows if row.step == step) for step in steps}
        order = sorted(found, key=lambda step: (found[step].executed, found[step].bytes, step))
        return {step: found[step] for step in reversed(order)}

    @property
    def core(self) -> Cost:
        """The cost of attention; products of two activations are taken for it."""
        return total(row for row in self.rows if row.step in CORE)

    @property
    def core_by_module(self) -> dict[str, Cost]:
        """The same of every module with all that is in it."""
        return self._by_module(row for row in self.rows if row.step in CORE)

    @property
    def attention_share(self) -> float:
        """Attention's part of the useful FLOPs, by `core`."""
        return self.core.useful / self.useful if self.useful else 0.0

    def _by_module(self, rows: Iterable[Row]) -> dict[str, Cost]:
        inside: dict[str, list[Cost]] = {name: [] for name in self.modules}
        for row in rows:
            for name in _with_parents(row.module):
                inside.setdefault(name, []).append(row.cost)
        return {name: _sum(costs) for name, costs in inside.items()}


def total(rows: Iterable[Row]) -> Cost:
    """Return what rows cost together."""
    return _sum([row.cost for row in rows])


def _sum(costs: list[Cost]) -> Cost:
    """Add up numbers, not costs: a model has thousands of them."""
    return Cost(
        useful=sum(cost.useful for cost in costs),
        executed=sum(cost.executed for cost in costs),
        dense=sum(cost.dense for cost in costs),
        elementwise=sum(cost.elementwise for cost in costs),
        bytes=sum(cost.bytes for cost in costs),
    )


def _with_parents(module: str) -> list[str]:
    """Return the names of a module and of all that hold it; "" is the outermost."""
    parts = module.split(".") if module else []
    return [".".join(parts[:end]) for end in range(len(parts) + 1)]
