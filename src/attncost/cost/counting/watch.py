"""Watching a call: attention functions are read whole, every other operation is priced.

A function of attention may run in any way beneath, or in none that a counter sees, as on a CPU;
so its arguments are read, and what it calls is muted. All other operations are met where PyTorch
dispatches them, below autograd, the backward pass included.
"""

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Final, TypeAlias, final

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator, OpOverload
from torch.utils._pytree import tree_leaves

from attncost.cost.counting import apis
from attncost.cost.counting.apis.interface import AttentionApi
from attncost.cost.counting.counted import Counted, Phase
from attncost.cost.counting.modes import Functions, Operations
from attncost.cost.counting.prices import cost_of, price_for
from attncost.cost.counting.registry import ATTENTION, PRODUCTS, Price, name_of
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


@final
class Watch:
    """Counts what happens while it is entered; may be entered again and again."""

    def __init__(self, root: object) -> None:
        self._where, self._weights = Whereabouts(root), Weights(root)
        self._tally, self._spans = Tally(), Spans()
        self._steps: dict[int, str] = {}
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
            self._spans.add(Span(first, _next_number(), module, name, calls, api.opens))

    def operation(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Result:
        """Run an operation, and count it."""
        if func in self._apis and self._inside is None:
            return self.function(func, args, kwargs)
        name = name_of(func)
        if self._inside is not None and not (self._inside.opens and name in _PROJECTIONS):
            return func(*args, **kwargs)
        phase = self._phase()
        if phase == "backward":
            span = self._spans.holding(_node_number())
            if span is not None:
                self._backward(span, name)
                if not (span.opens and name in _PROJECTIONS):
                    return func(*args, **kwargs)
        price = price_for(func)
        if price is None and _is_composite(func):
            with Operations(self.operation):
                return func.decompose(*args, **kwargs)
        out = func(*args, **kwargs)
        if price is not None:
            self._priced(price, func, phase, (args, kwargs, out))
        else:
            self._tally.unpriced(self._where.now, name, (args, kwargs))
        return out

    def _priced(self, price: Price, func: Function, phase: Phase, call: Arguments) -> None:
        """Add an operation, where and in what step it belongs."""
        args, kwargs, out = call
        tensors = _tensors((args, kwargs))
        if phase == "backward" and price.step == ATTENTION and not _is_backward(func):
            # A custom operation hides from autograd while it runs forward, a second time, too.
            phase = "recomputation"
        number = _node_number() if phase == "backward" else _next_number() - 1
        module = self._where.of(number) if phase == "backward" else self._where.now
        step = self._step(price.step, tensors, phase, number)
        cost = cost_of(price, func, args, kwargs, out)
        self._tally.add(module, phase, step, name_of(func), cost)
        self._weights.made_of(tensors, _tensors(out))

    def _phase(self) -> Phase:
        if torch._C._current_autograd_node() is None:
            return "forward"
        # A backward pass records nothing, unless it runs the forward pass once more.
        return "recomputation" if torch.is_grad_enabled() or self._where.again else "backward"

    def _step(self, step: str, tensors: list[Tensor], phase: Phase, number: int) -> str:
        """Tell products with weights from those of activations, whose gradients they share."""
        if step != PRODUCTS:
            return step
        if phase == "backward":
            return self._steps.get(number, "weights")
        # What a product is added to comes first, and is no factor of it.
        factors = tensors[1:] if len(tensors) > 2 else tensors
        found = "weights" if self._weights.among(factors) else "activations"
        self._steps[number] = found
        return found

    def _backward(self, span: Span, name: str) -> None:
        """Count the gradients of a call of attention when the first of its nodes is met."""
        if not span.begun:
            span.begun = True
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


def _is_backward(func: Function) -> bool:
    return name_of(func).endswith("backward")


def _recomputes(name: str) -> bool:
    """Say whether an operation is a fused backward pass, which computes the scores again."""
    return name.endswith("backward") and ("attention" in name or name.startswith("attncost::"))


def _node_number() -> int:
    return int(torch._C._current_autograd_node()._sequence_nr())


def _next_number() -> int:
    return int(torch.autograd._get_sequence_nr())  # type: ignore[attr-defined]


def _named(func: Function) -> str:
    if isinstance(func, HigherOrderOperator):
        return str(func.name())
    return str(getattr(func, "__name__", func))


def _tensors(tree: object) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]
