"""Hearing of every operation that a run on fake tensors meets, as it would run for real.

What a call holds is one thing that such a run tells; what it would take is another. Whoever listens
hears of each operation after it ran, those inside of our own kernels and of backward passes too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

from attncost.core.unseen import in_whole

# An operation, what it took, by position and by keyword, what it returned, and the module.
Listener: TypeAlias = Callable[[Any, tuple[Any, ...], dict[str, Any], Any, str], None]

_LISTENERS: Final[ContextVar[tuple[Listener, ...]]] = ContextVar("attncost_listeners", default=())


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let a function hear of every operation of `memory` that is called meanwhile.

    Args:
        listener: Takes an operation, its arguments by position and by keyword, what it returned and
            the name of the module that ran.
    """
    token = _LISTENERS.set((*_LISTENERS.get(), listener))
    try:
        with in_whole():
            yield
    finally:
        _LISTENERS.reset(token)


def listeners() -> tuple[Listener, ...]:
    """Return who listens now."""
    return _LISTENERS.get()
