"""Profile a call: where its time goes, by operator, by module and by kind of work."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import Any, Final, final

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map_only

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.cost.counting.backward import leaves_of, next_number, targets_of
from attncost.cost.counting.parts import parts_of
from attncost.cost.counting.untouched import gradients_kept, untouched
from attncost.measure.attribution.overhead import overhead
from attncost.measure.attribution.profiled import Profile, profiled
from attncost.measure.attribution.ranges import Ranges, span_of
from attncost.measure.attribution.recorder import in_rounds, recording, refuse_profiler
from attncost.measure.attribution.spans import BACKWARD, MODULE, Span
from attncost.measure.attribution.tally import operators_of, tally

_LISTED: Final = 3


def profile(
    module: nn.Module | Callable[..., Any],
    /,
    *inputs: Any,  # noqa: ANN401 -- the module's
    training: bool = False,
    rounds: int = 15,
    shapes: bool = False,
    **options: Any,  # noqa: ANN401 -- the module's
) -> Profile:
    """Call a module many times, and return where its time goes.

    The module is called as it stands: its own mode of training or evaluation and the surrounding
    `no_grad` stay, fast paths and compiled code run as they do without a profiler. Buffers,
    gradients and random numbers are put back afterwards. Weights must be real.

    Each backward node counts for the module whose forward pass made it; what belongs to no module
    is listed, so that all parts add up to the total.

    >>> import torch
    >>> layer = torch.nn.TransformerEncoderLayer(64, 4, batch_first=True)
    >>> found = profile(layer, torch.zeros(1, 16, 64), rounds=1)
    >>> [one.name for one in found.by_module][:2], found.overhead.times.figure > 0
    (['', 'self_attn'], True)

    Args:
        module: A module, or any function of tensors.
        *inputs: What it is called with.
        training: Profile the backward pass, too: from `loss` if the output has one that is set, or
            else from everything in it that has a gradient.
        rounds: Calls to record; and as often it is timed with and without the profiler.
        shapes: Tell calls of an operator apart by the shapes of their inputs, which takes longer.
        **options: What it is called with by keyword.

    Raises:
        ShapeError: If it cannot be called so, or has no gradient for `training`.
        UnsupportedOption: If a profiler is running, or tensors have no values.
    """
    if not callable(module):
        raise ShapeError(f"module must be a module or a function, got {module!r}.")
    if rounds < 1:
        raise ShapeError(f"rounds must be at least 1, got {rounds}.")
    refuse_profiler()
    ranges = Ranges(module)
    call = _Call(module, inputs, options, training=training)
    with ExitStack() as stack:
        as_compiled = _as_compiled()
        stack.enter_context(untouched(call.parts, call.tensors))
        stack.enter_context(as_compiled())
        stack.enter_context(gradients_kept(call.first()))
        spans = _recorded(call, ranges, rounds=rounds, shapes=shapes)
        spent = overhead(call.whole, ranges, rounds=rounds, device=call.device, shapes=shapes)
    return profiled(
        tally(spans, skipped=1, on_gpu=call.device != "cpu"),
        ranges,
        spent,
        training=training,
        run={
            "device": call.device,
            "threads": torch.get_num_threads(),
            "notes": tuple(_changes(spans)),
        },
    )


@final
class _Call:
    """What is profiled, again and again.

    Attributes:
        tensors: Those it is called with.
        parts: All modules.
        device: Where it runs.
    """

    def __init__(
        self,
        called: Callable[..., Any],
        inputs: tuple[Any, ...],
        options: dict[str, Any],
        *,
        training: bool,
    ) -> None:
        if training and not torch.is_grad_enabled():
            raise ShapeError("training=True needs gradients, which are off here: leave no_grad.")
        self._called, self._training = called, training
        # A function has no call that a hook of modules would see.
        self._hooked = isinstance(_within(called), nn.Module)
        # What the caller computed before is no part of the module.
        self._inputs, self._options = tree_map_only(Tensor, _leaf, (inputs, options))
        given = tree_leaves((self._inputs, self._options))
        self.tensors: Final = [x for x in given if isinstance(x, Tensor)]
        self.parts: Final = list(parts_of(called).values())
        self.device: Final = _device([*self.tensors, *_parameters(self.parts)])
        self._leaves: list[Tensor] = []

    def first(self) -> list[Tensor]:
        """Call it once, and return what its gradients are added to."""
        before = next_number()
        output = self._forward()
        if self._training:
            targets = targets_of(output)
            self._leaves = leaves_of(targets, before)
        return self._leaves

    def ready(self) -> None:
        """Take away the gradients of the call before."""
        for leaf in self._leaves:
            leaf.grad = None

    def run(self) -> None:
        """Call it, forward and perhaps backward."""
        output = self._forward()
        if self._training:
            with span_of(BACKWARD):
                targets = targets_of(output)
                torch.autograd.backward(targets, [torch.ones_like(one) for one in targets])

    def whole(self) -> None:
        """Get ready and call it."""
        self.ready()
        self.run()

    def _forward(self) -> object:
        with nullcontext() if self._hooked else span_of(MODULE):
            return self._called(*self._inputs, **self._options)


def _recorded(call: _Call, ranges: Ranges, *, rounds: int, shapes: bool) -> list[Span]:
    with recording(nullcontext, device=call.device, shapes=shapes) as spans:
        in_rounds(call.run, ranges, rounds=rounds, ready=call.ready)
    return spans()


def _changes(spans: list[Span]) -> list[str]:
    """Say so if other operators ran once modules were watched."""
    without, with_them = (operators_of(spans, number) for number in (0, 1))
    differing = [
        name
        for name in dict.fromkeys([*without, *with_them])
        if without.get(name) != with_them.get(name)
    ]
    if not differing:
        return []
    more = f" and {len(differing) - _LISTED} more" if len(differing) > _LISTED else ""
    return [
        "calls differ: with its modules watched it ran another number of "
        f"{', '.join(differing[:_LISTED])}{more} than without."
    ]


def _as_compiled() -> Callable[[], AbstractContextManager[object]]:
    """Return what lets compiled code run as the caller has it run."""
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is None:
        return nullcontext
    stance = dynamo.eval_frame._stance.stance
    return lambda: torch.compiler.set_stance(stance)


def _within(called: object) -> object:
    return _within(called.func) if isinstance(called, partial) else called


def _leaf(tensor: Tensor) -> Tensor:
    return tensor if tensor.is_leaf else tensor.detach().requires_grad_(tensor.requires_grad)


def _parameters(parts: list[nn.Module]) -> list[Tensor]:
    return [p for part in parts for p in part.parameters(recurse=False)]


def _device(tensors: list[Tensor]) -> str:
    """Return where a call runs.

    Raises:
        UnsupportedOption: If it is a place that has no clock.
    """
    kinds = {tensor.device.type for tensor in tensors}
    if kinds <= {"cpu"}:
        return "cpu"
    if kinds <= {"cpu", "cuda"}:
        return "cuda"
    raise UnsupportedOption(
        f"a profile runs on cpu and cuda, got tensors on {', '.join(sorted(kinds))}: make real "
        "weights and inputs."
    )
