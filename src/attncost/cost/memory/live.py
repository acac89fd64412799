"""A run on fake tensors in which every block of memory is seen: when it appears, when it is gone.

Each operation is met where PyTorch dispatches it, below autograd. Its results are live from then
until nobody holds their storage any more, and while it runs it holds its scratch besides. An
operation that is written as others becomes these, as in a real run.
"""

from collections.abc import Iterable
from contextlib import ExitStack, nullcontext
from functools import cache
from threading import get_ident
from types import TracebackType
from typing import Any, Final, Literal, TypeAlias, final
from weakref import finalize

import torch
from torch import Tensor, nn
from torch._ops import OpOverload
from torch._subclasses import FakeTensor
from torch.utils._pytree import tree_leaves, tree_map_only

from attncost.cost.counting.modes import Operations
from attncost.cost.counting.passes import Passes
from attncost.cost.counting.registry import name_of
from attncost.cost.counting.whereabouts import Whereabouts
from attncost.cost.memory.fakes import Fakes
from attncost.cost.memory.gpu import like_a_gpu
from attncost.cost.memory.gradients import added_into
from attncost.cost.memory.hidden import hidden, is_declared
from attncost.cost.memory.listening import listeners
from attncost.cost.memory.log import Log
from attncost.cost.memory.numbers import run_with_numbers
from attncost.cost.memory.quick import Quick
from attncost.cost.memory.substitutes import RETURNED, STEPS

# An operation and what it takes and returns: PyTorch has no type for all of them.
Function: TypeAlias = Any
Result: TypeAlias = Any
Phase: TypeAlias = Literal["forward", "backward", "step"]

# Bytes of which every block is a multiple, by the kind of device.
_GRANULARITY: Final = {"cpu": 1, "cuda": 512}
KINDS: Final = tuple(_GRANULARITY)
_LOOKS: Final = "aten::_local_scalar_dense"
# They make a fake tensor of a number that Python has just made, and keep that number.
_LIFTS: Final = frozenset({"aten::lift_fresh", "aten::lift", "aten::lift_fresh_copy"})
# Whoever calls these asks about a tensor or writes a protocol, and computes nothing.
_ASKS: Final = ("prim::", "profiler::")


@final
class Live:
    """Follows what is live while it is entered.

    Attributes:
        phase: What runs now; whoever runs it says so.
        log: What was handed out and given back.
        unknown: Operations of which nobody knows what they hold inside.
        met: Bytes of what was there before and is no parameter or input, such as a kept mask.
        overwritten: Whether numbers that code may look at have become unknown.
        ours: Whether our own kernels have run.
        again: Whether a backward pass has run something again, as of a checkpoint.
    """

    def __init__(self, whole: str, parts: dict[str, nn.Module], fakes: Fakes, kind: str) -> None:
        """Get ready to follow a run.

        Args:
            whole: What is called.
            parts: Its modules, by name.
            fakes: Makes the stand-ins, of the place where all that is followed is.
            kind: The kind of device whose rules hold: `cpu` or `cuda`.
        """
        self.phase: Phase = "forward"
        self.log: Final = Log(_GRANULARITY[kind])
        self.unknown: Final[dict[str, None]] = {}
        self.met, self.again, self.overwritten, self.ours = 0, False, False, False
        self._where = Whereabouts(whole, _hooked(parts), rerun=nullcontext)
        self._fakes, self._kind, self._passes = fakes, kind, Passes()
        self._quick = Quick(fakes.mode)
        # Storages that were there before, and the blocks of those that the run has made.
        self._before: set[int] = set()
        self._blocks: dict[int, int] = {}
        # Whether our own kernels are run step by step.
        self._inside = False
        # The last operation, by name.
        self._last = ""
        self._entered = ExitStack()

    def __enter__(self) -> "Live":
        with ExitStack() as stack:
            stack.enter_context(self._where)
            stack.enter_context(Operations(self._operation))
            if self._kind == "cuda":
                stack.enter_context(like_a_gpu())
            self._entered = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._entered.close()

    def resident(self, tensors: list[Tensor]) -> int:
        """Note tensors that were there before, and return the bytes of those not noted yet."""
        storages = {x.untyped_storage()._cdata: x for x in tensors if self._is_here(x)}
        found = {
            number: self.log.rounded(tensor.untyped_storage().nbytes())
            for number, tensor in storages.items()
            if number not in self._before
        }
        self._before.update(found)
        return sum(found.values())

    def blocks_of(self, tensors: list[Tensor]) -> set[int]:
        """Return the blocks, by number, of those tensors that the run has made."""
        storages = {x.untyped_storage()._cdata for x in tensors}
        return {self._blocks[one] for one in storages & self._blocks.keys()}

    def _operation(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Result:
        """Run an operation, and note what it makes."""
        name = name_of(func)
        if name.startswith(_ASKS):
            return func(*args, **kwargs)
        if name == _LOOKS and self.phase == "step":
            # How many steps an optimizer has taken, which decides no size.
            return 1
        if name not in _LIFTS and (_holds_real(args) or _holds_real(kwargs.values())):
            args, kwargs = tree_map_only(Tensor, self._stand_in, (args, kwargs))
        steps = STEPS.get(name)
        if steps is None and not is_declared(func, self._kind) and _is_composite(func):
            steps = func.decompose
        if steps is not None:
            return self._step_by_step(name, steps, args, kwargs)
        out = self._run(name, func, args, kwargs)
        self._last = name
        self._note(name, hidden(func, args, kwargs, out, self._kind), out)
        for listener in listeners():
            listener(func, args, kwargs, out, self._module())
        return out

    def _step_by_step(
        self, name: str, steps: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Result:
        """Run what an operation is made of; places that our own kernels work out stay fake."""
        before, self._inside = self._inside, self._inside or name in STEPS
        self.ours = self.ours or self._inside
        try:
            with Operations(self._operation):
                return steps(*args, **kwargs)
        finally:
            self._inside = before

    def _run(
        self, name: str, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Result:
        if name == "aten::add":
            into = added_into(args, meets=self.phase == "backward", follows=self._last)
            if into is not None:
                return into
        if name in RETURNED:
            return RETURNED[name](*args, **kwargs)
        if not (self._inside and name in _LIFTS):
            real = run_with_numbers(func, args, kwargs, makes=not self._inside)
            if real is not None:
                return real[0]
            if func._schema.is_mutable and _is_real(args[0]):
                self.overwritten = True
        return self._quick.run(func, args, kwargs)

    def _stand_in(self, tensor: Tensor) -> Tensor:
        """Return the stand-in of a tensor that was there before and is met only now."""
        number = tensor.untyped_storage()._cdata if _is_real(tensor) else None
        if number is None or number in self._before or number in self._blocks:
            return tensor
        fake = self._fakes.of(tensor)
        self.met += self.resident([fake])
        return fake

    def _note(self, name: str, scratch: int | None, out: Result) -> None:
        """Note the results of an operation, and what it holds while it runs."""
        module = self._module()
        for tensor in [out] if isinstance(out, Tensor) else tree_leaves(out):
            if isinstance(tensor, Tensor) and self._is_here(tensor):
                self._follow(tensor.untyped_storage(), module)
        if scratch is None:
            self.unknown[name] = None
        scratch = self.log.rounded(scratch or 0)
        self.log.moment(scratch, phase=self.phase, module=module, operation=name)

    def _follow(self, storage: torch.UntypedStorage, module: str) -> None:
        number = storage._cdata
        if number in self._before:
            return
        block = self._blocks.get(number)
        if block is not None and self.log.size(block) != self.log.rounded(storage.nbytes()):
            self.log.given_back(block)  # It was resized, so it moved.
            self._blocks[number] = self.log.handed_out(storage.nbytes(), module)
        elif block is None:
            self._blocks[number] = self.log.handed_out(storage.nbytes(), module)
            finalize(storage, self._gone, number).atexit = False

    def _gone(self, number: int) -> None:
        self.log.given_back(self._blocks.pop(number))

    def _is_here(self, tensor: Tensor) -> bool:
        return tensor.device.type == self._fakes.home.type

    def _module(self) -> str:
        """Return the module that runs, or whose gradient does."""
        node: torch.autograd.graph.Node | None = torch._C._current_autograd_node()
        if node is None:
            return self._where.now
        if self._passes.now(again=self._where.again) == "recomputation":
            self.again = True
            return self._where.now
        return self._where.of(int(node._sequence_nr()), get_ident())


def _hooked(parts: dict[str, nn.Module]) -> dict[str, nn.Module]:
    """Return the modules that may have hooks, which keep an encoder from its fast path."""
    fast = {
        id(inner)
        for part in parts.values()
        if isinstance(part, nn.TransformerEncoderLayer) and not part.training
        for inner in part.modules()
    }
    return {name: part for name, part in parts.items() if id(part) not in fast}


def _is_real(value: object) -> bool:
    """Say whether it is a tensor from outside, not a number that PyTorch wraps."""
    return isinstance(value, Tensor) and not isinstance(value, FakeTensor) and value.dim() > 0


def _holds_real(given: Iterable[object]) -> bool:
    """Say whether there is one among arguments, which hold tensors in lists at most."""
    return any(
        _holds_real(value) if isinstance(value, list | tuple) else _is_real(value)
        for value in given
    )


@cache
def _is_composite(func: Function) -> bool:
    """Say whether an operation is written as others."""
    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    return isinstance(func, OpOverload) and func.has_kernel_for_dispatch_key(composite)
