"""Which module computes, forward and backward.

A node of autograd has a number, drawn when the forward pass made it, so the module that ran while
the number was drawn is the one whose gradient the node computes.
"""

from bisect import bisect_right
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Any, final

import torch
from torch import nn

# Under this name `torch.compile` keeps the module that it was given.
_WRAPPER = "_orig_mod"


@final
class Whereabouts:
    """Knows the module that runs, by its name in the one that is counted.

    Attributes:
        modules: The class of every module by name, in order; "" is the whole.
    """

    def __init__(self, root: object) -> None:
        named = root.named_modules() if isinstance(root, nn.Module) else ()
        # What `torch.compile` puts around a module is no module of its own.
        self._named = {_plain(name): module for name, module in named if not _wraps(module)}
        self.modules = {name: type(module).__name__ for name, module in self._named.items()} or {
            "": getattr(root, "__name__", type(root).__name__)
        }
        self._running: list[tuple[str, bool]] = [("", False)]
        self._changes: list[int] = [0]
        self._since: list[str] = [""]
        self._hooks = ExitStack()

    @property
    def now(self) -> str:
        """The innermost module that runs."""
        return self._running[-1][0]

    @property
    def again(self) -> bool:
        """Whether that module runs for a backward pass that kept nothing of its first run."""
        return self._running[-1][1]

    def of(self, number: int) -> str:
        """Return the module whose forward pass drew the number of a node."""
        return self._since[bisect_right(self._changes, number) - 1] if number < 1 << 63 else ""

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
        self._running.append((name, torch._C._current_autograd_node() is not None))
        self._note()

    def _leaves(self, _module: nn.Module, _inputs: Any, _output: Any) -> None:  # noqa: ANN401
        self._running.pop()
        self._note()

    def _note(self) -> None:
        self._changes.append(torch.autograd._get_sequence_nr())  # type: ignore[attr-defined]
        self._since.append(self.now)


def _wraps(module: nn.Module) -> bool:
    return _WRAPPER in module._modules


def _plain(name: str) -> str:
    return ".".join(part for part in name.split(".") if part != _WRAPPER)
