"""What one call of a module holds in memory at its worst moment, known before it runs."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
)
from torch.optim import Optimizer
from torch.utils._pytree import tree_leaves

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.core.unseen import taken_for_finite, unseen
from attncost.cost.counting.backward import leaves_of, next_number, targets_of
from attncost.cost.counting.parts import COMPILED, class_of, parts_of
from attncost.cost.counting.untouched import gradients_kept, untouched
from attncost.cost.memory.fakes import Fakes, stood_in_for
from attncost.cost.memory.footprint import Footprint, Part
from attncost.cost.memory.live import KINDS, Live
from attncost.cost.memory.replay import footprint

MakeOptimizer: TypeAlias = Callable[[list[nn.Parameter]], Optimizer]

_LOOKS: Final = (DataDependentOutputException, DynamicOutputShapeException)
_LIBRARIES: Final = (
    "scratch of CUDA's kernels, workspaces of its libraries and fast paths of layers are not seen."
)
_OURS: Final = "attention under a pattern runs here as on a CPU, and may hold more on a GPU."
_AUTOCAST: Final = "autocast follows the rules of a CPU, and may keep more in 32 bits on a GPU."
_HIDING: Final = "the numbers of {} are not known, and more may be held for what it hides."
_OVERWRITTEN: Final = "whole numbers were overwritten by some that are not known."
_AGAIN: Final = "a checkpoint keeps the state of random numbers, some 5 kB, which is not seen."
_COMPILED: Final = "compiled code runs here as it was written, and may hold more as a graph."


def memory(
    module: nn.Module | Callable[..., Any],
    /,
    *inputs: Any,  # noqa: ANN401 -- the module's
    training: bool = False,
    optimizer: MakeOptimizer | None = None,
    device: str | torch.device | None = None,
    **options: Any,  # noqa: ANN401 -- the module's
) -> Footprint:
    """Return what a call of a module would hold in memory at its worst moment, part by part.

    The call is made on fake tensors, which have sizes and no numbers: nothing is computed but few
    whole numbers, such as masks and positions, which decide what runs. Real, fake and meta tensors
    give the same, if no mask is among them. A GPU need not be there; what its kernels hold inside
    is not known, so the peak is "at least" there. The module is
    called as it stands: its own mode of training or evaluation stays, and the surrounding
    `no_grad`, autocast or `inference_mode`. Everything in it is left as it was.

    Keys and values are taken for finite, see `attention`. Caches of PyTorch are taken for warm, as
    after a first call. Not seen are what leaves PyTorch (NumPy, other threads) and what an
    allocator loses between blocks.

    >>> import attncost as ac
    >>> import torch
    >>> layer = ac.nn.Attention(64, 4).to("meta")
    >>> found = ac.memory(layer, torch.empty(1, 128, 64, device="meta"), training=True)
    >>> found.by_part["gradients"] <= found.by_part["parameters"]
    True

    Args:
        module: A module, or any function of tensors.
        *inputs: What it is called with.
        training: Run the backward pass, too: from `loss` if the output has one that is set, or
            else from everything in it that has a gradient; then a gradient of each of these
            outputs, as large as the output, comes from outside and is held until the end.
        optimizer: Makes an optimizer of parameters, such as `torch.optim.AdamW`; its step is run,
            too, and its state was there before. Only with `training`.
        device: Where the call would run, `cpu` or `cuda`; where the module is, or on a CPU if that
            is nowhere.
        **options: What it is called with by keyword.

    Raises:
        ShapeError: If a module is lazy, if the call looks at numbers; if `training` is asked for
            and nothing has a gradient, or the gradient goes back to what was computed before.
        UnsupportedOption: If tensors are of a class of their own, or sparse; if the device is
            another one.
    """
    _check(module, training=training, optimizer=optimizer)
    parts = parts_of(module)
    given = [x for x in tree_leaves((inputs, options)) if isinstance(x, Tensor)]
    named = {f"input {number}": value for number, value in enumerate(inputs)} | options
    place = _place(parts, given, device)
    fakes = Fakes(torch.device("cpu"))
    live = Live(class_of(module), parts, fakes, place.type)
    with (
        untouched((), ()),
        _seeing(class_of(module)),
        fakes.mode,
        taken_for_finite(),
        stood_in_for(parts.values(), fakes),
    ):
        arguments = fakes.within((inputs, options))
        before = _before(parts.values(), arguments, live)
        steps = None if optimizer is None else _warm(optimizer, parts, fakes)
        before["optimizer"] = 0 if steps is None else live.resident(_state(steps))
        gradients = _run(module, arguments, live, training=training, steps=steps)
    before["buffers"] += live.met
    return footprint(
        name=class_of(module),
        device=str(place),
        log=live.log,
        before=before,
        gradients=gradients,
        at_least=_reasons(live, parts, place, named),
    )


def _run(
    module: Callable[..., Any],
    arguments: tuple[tuple[Any, ...], dict[str, Any]],
    live: Live,
    *,
    training: bool,
    steps: Optimizer | None,
) -> set[int]:
    """Make the call, and return the blocks of the gradients of parameters."""
    first = next_number()
    with live:
        output = module(*arguments[0], **arguments[1])
    live.log.forward_ends()
    if not training:
        return set()
    targets = targets_of(output)
    leaves = leaves_of(targets, first)
    with gradients_kept(leaves):
        live.phase = "backward"
        with live:
            ones = [torch.ones_like(target) for target in targets]
            torch.autograd.backward(targets, ones)
            del ones
        learned = [x.grad for x in leaves if isinstance(x, nn.Parameter) and x.grad is not None]
        found = live.blocks_of(learned)
        live.phase = "step"
        with live:
            if steps is not None:
                steps.step()
        return found


def _before(
    parts: Iterable[nn.Module],
    arguments: tuple[tuple[Any, ...], dict[str, Any]],
    live: Live,
) -> dict[Part, int]:
    """Return the bytes that are there before the call; all are stand-ins by now."""
    parts = list(parts)
    buffers = [x for part in parts for x in part.buffers(recurse=False)]
    attributes = [x for part in parts for x in tree_leaves(list(vars(part).values()))]
    inputs = tree_leaves(arguments)
    return {
        "parameters": live.resident([x for part in parts for x in part.parameters(recurse=False)]),
        "buffers": live.resident([*buffers, *(x for x in attributes if isinstance(x, Tensor))]),
        "inputs": live.resident([x for x in inputs if isinstance(x, Tensor)]),
    }


def _warm(make: MakeOptimizer, parts: dict[str, nn.Module], fakes: Fakes) -> Optimizer:
    """Return an optimizer that has made one step already, so that its state is there."""
    every = [p for part in parts.values() for p in part.parameters(recurse=False)]
    learned = list({id(p): p for p in every if p.requires_grad}.values())
    steps = make(learned)
    if not isinstance(steps, Optimizer):
        raise ShapeError(
            "optimizer must make a torch.optim.Optimizer of parameters, such as "
            f"torch.optim.AdamW, got {type(steps).__name__}."
        )
    apart = Live("", {}, fakes, fakes.home.type)
    apart.phase = "step"
    with apart:
        for parameter in learned:
            parameter.grad = torch.zeros_like(parameter)
        steps.step()
    steps.zero_grad(set_to_none=True)
    return steps


def _state(steps: Optimizer) -> list[Tensor]:
    leaves = tree_leaves(list(steps.state.values()))
    return [leaf for leaf in leaves if isinstance(leaf, Tensor)]


def _check(module: object, *, training: bool, optimizer: object) -> None:
    if not callable(module):
        raise ShapeError(f"module must be a module or a function, got {module!r}.")
    if optimizer is not None and not callable(optimizer):
        raise ShapeError(
            "optimizer must be a function of parameters, such as torch.optim.AdamW, got "
            f"{optimizer!r}."
        )
    if optimizer is not None and not training:
        raise ShapeError("an optimizer steps after a backward pass: give training=True as well.")
    if training and not torch.is_grad_enabled():
        raise ShapeError("training=True needs gradients, which are off here: leave no_grad.")


def _place(
    parts: dict[str, nn.Module], given: list[Tensor], device: str | torch.device | None
) -> torch.device:
    """Return where the call would run: where its first tensor is that is anywhere."""
    if device is not None:
        place = torch.device(device)
    else:
        parameters = (p for part in parts.values() for p in part.parameters(recurse=False))
        places = (tensor.device for tensor in (*parameters, *given))
        place = next((one for one in places if one.type != "meta"), torch.device("cpu"))
    if place.type not in KINDS:
        raise UnsupportedOption(
            f"device must be cpu or cuda, whose ways with memory are known, got {place}."
        )
    return place


def _reasons(
    live: Live, parts: dict[str, nn.Module], place: torch.device, given: dict[str, Any]
) -> tuple[str, ...]:
    """Return why the peak may be higher."""
    on_gpu = place.type == "cuda"
    compiled = any(COMPILED in part._modules or part._compiled_call_impl for part in parts.values())
    names = [] if on_gpu else live.unknown
    return (
        *(f"{name} may hold memory inside of which nothing is known." for name in names),
        *(_HIDING.format(name) for name in _masks_unseen(given)),
        *(
            reason
            for is_so, reason in (
                (live.overwritten, _OVERWRITTEN),
                (live.again, _AGAIN),
                (on_gpu, _LIBRARIES),
                (on_gpu and live.ours, _OURS),
                (on_gpu and _narrows(), _AUTOCAST),
                (compiled, _COMPILED),
            )
            if is_so
        ),
    )


def _narrows() -> bool:
    return any(torch.is_autocast_enabled(kind) for kind in KINDS)


def _masks_unseen(given: dict[str, Any]) -> list[str]:
    """Return the names of masks and segments whose numbers nobody knows."""
    return [
        name
        for name, value in given.items()
        if isinstance(value, Tensor) and _says_what_to_read(name, value) and unseen(value)
    ]


def _says_what_to_read(name: str, value: Tensor) -> bool:
    return value.dtype == torch.bool or "mask" in name or "segments" in name


@contextmanager
def _seeing(name: str) -> Iterator[None]:
    """Say in words what fake tensors cannot do."""
    try:
        yield
    except _LOOKS as error:
        raise ShapeError(
            f"{name} looks at numbers ({error}), which fake tensors have not: give it inputs with "
            "which it does not, such as no mask of padding."
        ) from error
