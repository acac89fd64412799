"""Which module computes, forward and backward.

A node of autograd has a number, drawn by the thread whose forward pass made it, so the module that
ran there while the number was drawn is the one whose gradient the node computes.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from threading import get_ident
from types import TracebackType
from typing import Any, Final, NamedTuple, final

import torch
from torch import nn

from attncost.cost.counting.parts import COMPILED

_LEAF: Final = 1 << 63  # the numbers of nodes that add up gradients begin here


class _Run(NamedTuple):
    """A module that runs, and whether a backward pass runs it again."""

    name: str
    again: bool
    rerun: ExitStack


@final
class Whereabouts:
    """Knows the module that runs, by its name in the one that is counted.

    Attributes:
        modules: The class of every module by name, in order; "" is the whole.
    """

    def __init__(
        self,
        whole: str,
        parts: dict[str, nn.Module],
        *,
        rerun: Callable[[], AbstractContextManager[object]],
    ) -> None:
        # What `torch.compile` puts around a module is no module of its own, and what TorchScript
        # made takes no hooks.
        self._named = {
            _plain(name): module
            for name, module in parts.items()
            if COMPILED not in module._modules and not isinstance(module, torch.jit.ScriptModule)
        }
        classes = {name: type(module).__name__ for name, module in self._named.items()}
        self.modules: Final = {"": whole} | classes
        self._rerun = rerun
        self._running: defaultdict[int, list[_Run]] = defaultdict(list)
        self._changes: defaultdict[int, list[int]] = defaultdict(list)
        self._since: defaultdict[int, list[str]] = defaultdict(list)
        self._hooks = ExitStack()

    @property
    def now(self) -> str:
        """The innermost module that runs in this thread."""
        running = self._running[get_ident()]
        return running[-1].name if running else ""

    @property
    def again(self) -> bool:
        """Whether that module runs for a backward pass that kept nothing of its first run."""
        running = self._running[get_ident()]
        return bool(running) and running[-1].again

    def of(self, number: int, thread: int) -> str:
        """Return the module whose forward pass in a thread drew the number of a node."""
        at = bisect_right(self._changes[thread], number) - 1
        return self._since[thread][at] if at >= 0 and number < _LEAF else ""

    def __enter__(self) -> "Whereabouts":
        for name, module in self._named.items():
            # A hook of one module is no hook of all: those slow every module down, for good.
            before = module.register_forward_pre_hook(partial(self._enters, name), prepend=True)
            after = module.register_forward_hook(self._leaves, always_call=True)
            self._hooks.callback(before.remove)
            self._hooks.callback(after.remove)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._hooks.close()

    def _enters(self, name: str, _module: nn.Module, _inputs: Any) -> None:  # noqa: ANN401
        again, rerun = torch._C._current_autograd_node() is not None, ExitStack()
        if again and not self.again:
            # A backward pass has left the modes of the forward pass.
            rerun.enter_context(self._rerun())
        self._running[get_ident()].append(_Run(name, again, rerun))
        self._note()

    def _leaves(self, _module: nn.Module, _inputs: Any, _output: Any) -> None:  # noqa: ANN401
        running = self._running[get_ident()]
        if running:
            running.pop().rerun.close()
        self._note()

    def _note(self) -> None:
        thread = get_ident()
        self._changes[thread].append(torch.autograd._get_sequence_nr())  # type: ignore[attr-defined]
        self._since[thread].append(self.now)


def _plain(name: str) -> str:
    return ".".join(part for part in name.split(".") if part != COMPILED)
