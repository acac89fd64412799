"""Who watches the calls that our attention function makes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

import torch
from torch import Tensor, nn

from attncost.core.options import Wishes
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.interface import Pattern

Watcher: TypeAlias = Callable[
    [nn.Module, tuple[Tensor, Tensor, Tensor], Pattern | Mechanism, Wishes], None
]
_WATCHERS: Final[list[Watcher]] = []


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Tell a watcher of every call made meanwhile, compiled ones aside."""
    _WATCHERS.append(watcher)
    try:
        yield
    finally:
        _WATCHERS.remove(watcher)


def watched(
    module: nn.Module,
    qkv: tuple[Tensor, Tensor, Tensor],
    attention: Pattern | Mechanism,
    wishes: Wishes,
) -> None:
    """Tell all watchers of a call."""
    if not torch.compiler.is_compiling():
        for watcher in _WATCHERS:
            watcher(module, qkv, attention, wishes)
