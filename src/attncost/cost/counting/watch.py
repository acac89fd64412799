"""Watching a call: attention functions are read whole, every other operation is priced.

A function of attention may run in any way beneath, or in none that a counter sees, as on a CPU;
so its arguments are read, and what it calls is muted. All other operations are met where PyTorch
dispatches them, below autograd, the backward pass included.
"""

from collections.abc import Callable
from contextlib import ExitStack
from threading import get_ident
from types import TracebackType
from typing import Any, Final, TypeAlias, final

import torch
from torch import Tensor, nn
from torch._ops import HigherOrderOperator, OpOverload
from torch.utils._pytree import tree_leaves

from attncost.cost.counting import apis
from attncost.cost.counting.apis.interface import AttentionApi
from attncost.cost.counting.counted import Counted, Phase
from attncost.cost.counting.modes import Functions, Operations
from attncost.cost.counting.passes import Passes
from attncost.cost.counting.prices import cost_of, price_for
from attncost.cost.counting.registry import (
    ACTIVATIONS,
    ATTENTION,
    PRODUCTS,
    WEIGHTS,
    Price,
    name_of,
)
from attncost.cost.counting.scores import MASKED, Scores
from attncost.cost.counting.spans import Span, Spans
from attncost.cost.counting.tally import Tally
from attncost.cost.counting.weights import Weights
from attncost.cost.counting.whereabouts import Whereabouts

# A function or an operation, and what it returns: PyTorch has no type for all of them.
Function: TypeAlias = Any
Result: TypeAlias = Any
Arguments: TypeAlias = tuple[tuple[Any, ...], dict[str, Any], Any]

# Of a layer's own products, those with weights are of matrices, those of heads are batched.
_PROJECTIONS: Final = frozenset({"aten::mm", "aten::addmm", "aten::linear"})
# What knows nested tensors of the old layout.
_NESTED: Final = frozenset(
    {"aten::_native_multi_head_attention", "aten::_transformer_encoder_layer_fwd"}
)


@final
class Watch:
    """Counts what happens while it is entered; may be entered again and again."""

    def __init__(self, whole: str, parts: dict[str, nn.Module]) -> None:
        self._where = Whereabouts(whole, parts, rerun=lambda: Functions(self.function))
        self._weights, self._scores = Weights(parts.values()), Scores()
        self._tally, self._spans, self._passes = Tally(), Spans(), Passes()
        # The steps of products by thread and number of their node, and the last number drawn.
        self._steps: dict[tuple[int, int], str] = {}
        self._drawn: dict[int, int] = {}
        self._apis = _functions()
        # The attention function that runs now, whose insides are muted.
        self._inside: AttentionApi | None = None
        self._entered = ExitStack()

    def __enter__(self) -> "Watch":
        with ExitStack() as stack:
            stack.enter_context(self._where)
            stack.enter_context(Functions(self.function))
            stack.enter_context(Operations(self.operation))
            self._entered = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._entered.close()

    def counted(self, *, parameters: int) -> Counted:
        """Return what was counted until now."""
        return Counted(
            name=self._where.modules[""],
            rows=self._tally.rows(),
            attention=self._tally.attention_rows(),
            unpriced=self._tally.unpriced_rows(),
            unknown=self._tally.reasons(),
            modules=dict(self._where.modules),
            parameters=parameters,
        )

    def function(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Result:
        """Run a function, and count it if it computes attention."""
        api = self._apis.get(func) if self._inside is None else None
        calls = api.read(*args, **kwargs) if api else None
        if api is None or calls is None:
            return func(*args, **kwargs)
        phase, name, module = self._phase(), _named(func), self._where.now
        for call in calls:
            self._tally.add(module, phase, ATTENTION, name, call.forward())
            if phase == "forward":
                self._tally.attention(module, name, call)
        first = _next_number()
        self._inside = api
        try:
            return func(*args, **kwargs)
        finally:
            self._inside = None
            span = Span(first, _next_number(), module, name, calls, api.opens)
            self._spans.add(span, get_ident())

    def operation(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Result:
        """Run an operation, and count it."""
        if func in self._apis and self._inside is None:
            return self.function(func, args, kwargs)
        name = name_of(func)
        if self._inside is not None and not (self._inside.opens and name in _PROJECTIONS):
            return self._muted(func, args, kwargs)
        phase = self._phase()
        if phase == "backward":
            span = self._spans.holding(self._passes.number, self._passes.origin)
            if span is not None:
                self._backward(span, name)
                if not (span.opens and name in _PROJECTIONS):
                    return func(*args, **kwargs)
        price = price_for(func)
        if price is None and _is_composite(func):
            with Operations(self.operation):
                return func.decompose(*args, **kwargs)
        out = func(*args, **kwargs)
        if price is not None and _is_priceable(name, args):
            self._priced(price, func, phase, (args, kwargs, out))
        else:
            self._tally.unpriced(self._where.now, name, (args, kwargs))
        return out

    def _muted(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Result:
        """Run an operation inside attention; what it makes of weights are weights even so."""
        opens = self._inside is not None and self._inside.opens
        out = func(*args, **kwargs)
        if opens:
            self._weights.made(_tensors(out), of=_tensors((args, kwargs)))
        return out

    def _priced(self, price: Price, func: Function, phase: Phase, call: Arguments) -> None:
        """Add an operation, where and in what step it belongs."""
        args, kwargs, out = call
        name, tensors, results = name_of(func), _tensors((args, kwargs)), _tensors(out)
        if phase == "backward":
            node = (self._passes.origin, self._passes.number)
            module = self._where.of(node[1], node[0])
        else:
            node, module = (get_ident(), self._own_number()), self._where.now
        step = self._step(price.step, tensors, phase, node)
        cost = cost_of(price, func, args, kwargs, out)
        # A whole layer in one operation says of which steps it is made.
        for part, share in cost.steps or ((step, cost),):
            self._tally.add(module, phase, part, name, share)
        self._weights.made(results, of=tensors)
        if phase == "forward" and self._scores.masked(name, step, tensors, results):
            self._tally.unknown(MASKED)

    def _phase(self) -> Phase:
        return self._passes.now(again=self._where.again)

    def _own_number(self) -> int:
        """Return the number of the node that autograd made for this operation; -1 for none."""
        thread, drawn = get_ident(), _next_number()
        before, self._drawn[thread] = self._drawn.get(thread, 0), drawn
        return drawn - 1 if drawn > before else -1

    def _step(self, step: str, tensors: list[Tensor], phase: Phase, node: tuple[int, int]) -> str:
        """Tell products with weights from those of activations, whose gradients they share."""
        if step != PRODUCTS:
            return step
        if phase == "backward":
            return self._steps.get(node, WEIGHTS)
        # What a product is added to comes first, and is no factor of it.
        factors = tensors[1:] if len(tensors) > 2 else tensors
        found = WEIGHTS if self._weights.among(factors) else ACTIVATIONS
        if node[1] >= 0:
            self._steps[node] = found
        return found

    def _backward(self, span: Span, name: str) -> None:
        """Count the gradients of a call of attention when a pass meets the first of its nodes."""
        if self._passes.task not in span.passes:
            span.passes.add(self._passes.task)
            for call in span.calls:
                cost = call.backward()
                self._tally.add(span.module, "backward", ATTENTION, span.function, cost)
        if _recomputes(name):
            for call in span.calls:
                cost = call.again()
                self._tally.add(span.module, "recomputation", ATTENTION, span.function, cost)


def _functions() -> dict[Callable[..., Any], AttentionApi]:
    found = [apis.load(name)() for name in apis.names()]
    return {function: api for api in found for function in api.functions()}


def _is_composite(func: Function) -> bool:
    """Say whether an operation is written as others, which it becomes unless nothing is learned."""
    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    return isinstance(func, OpOverload) and func.has_kernel_for_dispatch_key(composite)


def _is_priceable(name: str, args: tuple[Any, ...]) -> bool:
    """Say whether formulas can read sizes: nested tensors of the old layout have none."""
    return name in _NESTED or not any(tensor.is_nested for tensor in _tensors(args))


def _recomputes(name: str) -> bool:
    """Say whether an operation is a fused backward pass, which computes the scores again."""
    return name.endswith("backward") and ("attention" in name or name.startswith("attncost::"))


def _next_number() -> int:
    return int(torch.autograd._get_sequence_nr())  # type: ignore[attr-defined]


def _named(func: Function) -> str:
    if isinstance(func, HigherOrderOperator):
        return str(func.name())
    return str(getattr(func, "__name__", func))


def _tensors(tree: object) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]
