"""A named range around every call of a module, for a profiler to record.

Hooks on the modules themselves would change what runs: an encoder layer of PyTorch leaves its fast
path for them. Hooks for all modules, which PyTorch offers for profiling, are looked for by nobody.
They are here only while a profiler records. Hooks take 4 us a module; a range of PyTorch's fast
kind adds 0.8 us to that, and `record_function` would add 8.
"""

import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from threading import get_ident
from types import TracebackType
from typing import Any, Final, final
from warnings import catch_warnings, filterwarnings

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from attncost.cost.counting.parts import COMPILED, class_of, parts_of
from attncost.measure.attribution.spans import MODULE

# What a module compiled in place calls in place of its own code.
_OWN: Final = "_compiled_call_impl"
_TWICE: Final = "Using `torch.compile.module.` when there are global hooks"


def span_of(name: str) -> AbstractContextManager[object]:
    """Return a range that a profiler records, if one runs."""
    span: AbstractContextManager[object] = torch._C._profiler._RecordFunctionFast(name)
    return span


@final
class Ranges:
    """The modules of what is called, and a range around each call of one of them.

    Compiled code calls no modules: what was compiled is one module.

    Attributes:
        modules: The class of every module by name, in order; "" is the whole.
        also: Further names of modules that have several.
    """

    def __init__(self, called: object) -> None:
        parts = parts_of(called)
        compiled = [_plain(name) for name, part in parts.items() if _is_compiled(part)]
        named = {
            name: part
            for name, part in parts.items()
            if not (_wrapped(name) or any(_within(_plain(name), one) for one in compiled))
        }
        self.modules: Final = {"": class_of(called)} | {
            _plain(name): _class(part) for name, part in named.items()
        }
        self.also: Final = _also(called, named)
        # What was compiled in place runs its hooks or not, as it was when it was compiled.
        self._compiled: Final = {
            MODULE + _plain(name): part for name, part in named.items() if part._compiled_call_impl
        }
        inside = {id(part) for part in self._compiled.values()}
        self._names: Final = {
            id(part): MODULE + _plain(name)
            for name, part in named.items()
            if id(part) not in inside
        }
        self._open: Final[defaultdict[int, list[Any]]] = defaultdict(list)
        self._left = ExitStack()

    def __enter__(self) -> "Ranges":
        _as_written()
        with ExitStack() as stack:
            # Compiled modules say that hooks run twice, which is taken care of.
            stack.enter_context(catch_warnings())
            filterwarnings("ignore", message=_TWICE)
            before = register_module_forward_pre_hook(self._enters)
            stack.callback(before.remove)
            after = register_module_forward_hook(self._leaves, always_call=True)
            stack.callback(after.remove)
            for name, module in self._compiled.items():
                stack.callback(setattr, module, _OWN, getattr(module, _OWN))
                setattr(module, _OWN, _in_range(name, getattr(module, _OWN)))
            self._left = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._left.close()
        # An interrupt runs no hook: what it left open is closed here, innermost first.
        for ranges in self._open.values():
            while ranges:
                ranges.pop().__exit__(None, None, None)

    def _enters(self, module: nn.Module, _inputs: Any) -> None:  # noqa: ANN401
        name = self._names.get(id(module))
        if name is not None and not torch.compiler.is_compiling():
            span = span_of(name)
            span.__enter__()
            self._open[get_ident()].append(span)

    def _leaves(self, module: nn.Module, _inputs: Any, _output: Any) -> None:  # noqa: ANN401
        if id(module) in self._names and not torch.compiler.is_compiling():
            ranges = self._open[get_ident()]
            if ranges:
                ranges.pop().__exit__(None, None, None)


def _as_written() -> None:
    """Keep Dynamo from compiling what compiled code runs into here; it is loaded by then."""
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is not None:
        for function in (Ranges._enters, Ranges._leaves, span_of):
            dynamo.eval_frame.skip_code(function.__code__)


def _in_range(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def called(*inputs: Any, **options: Any) -> Any:  # noqa: ANN401 -- the module's
        with span_of(name):
            return call(*inputs, **options)

    return called


def _wrapped(name: str) -> bool:
    """Say whether a module is what `torch.compile` was given, whose wrapper stands for it."""
    return name.rpartition(".")[2] == COMPILED


def _plain(name: str) -> str:
    return ".".join(part for part in name.split(".") if part != COMPILED)


def _class(module: nn.Module) -> str:
    return f"{class_of(module)}, compiled" if _is_compiled(module) else class_of(module)


def _is_compiled(module: nn.Module) -> bool:
    return COMPILED in module._modules or module._compiled_call_impl is not None


def _within(name: str, holder: str) -> bool:
    return name != holder and name.startswith(f"{holder}." if holder else "")


def _also(called: object, named: dict[str, nn.Module]) -> dict[str, tuple[str, ...]]:
    if not isinstance(called, nn.Module):
        return {}
    first = {id(part): name for name, part in named.items()}
    found: dict[str, tuple[str, ...]] = {}
    for name, part in called.named_modules(remove_duplicate=False):
        one = first.get(id(part))
        if one is not None and name != one:
            found[_plain(one)] = (*found.get(_plain(one), ()), _plain(name))
    return found
