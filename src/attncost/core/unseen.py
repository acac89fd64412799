"""Whether the numbers of a tensor can be looked at: on a meta or fake tensor there are none."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import torch
from torch import Tensor
from torch._subclasses import FakeTensor

_TAKEN_FOR_FINITE: Final = ContextVar("attncost_taken_for_finite", default=False)
_IN_WHOLE: Final = ContextVar("attncost_in_whole", default=False)


@contextmanager
def taken_for_finite() -> Iterator[None]:
    """Let fake tensors take the way of real ones whose numbers are all finite.

    For whoever asks how much memory a real call would take, and not what a call on fake tensors
    does: kernels then leave out what only repeats itself.
    """
    token = _TAKEN_FOR_FINITE.set(True)
    try:
        yield
    finally:
        _TAKEN_FOR_FINITE.reset(token)


def is_taken_for_finite(tensor: Tensor) -> bool:
    """Say whether a tensor is fake and takes the way of finite numbers."""
    return _TAKEN_FOR_FINITE.get() and isinstance(tensor, FakeTensor)


@contextmanager
def in_whole() -> Iterator[None]:
    """Let such calls leave out nothing, for whoever adds up all that a real one would run."""
    token = _IN_WHOLE.set(True)
    try:
        yield
    finally:
        _IN_WHOLE.reset(token)


def repeats_left_out(tensor: Tensor) -> bool:
    """Say whether what only repeats itself may be left out of a call on fake tensors."""
    return is_taken_for_finite(tensor) and not _IN_WHOLE.get()


def unseen(tensor: Tensor) -> str | None:
    """Return why the numbers of a tensor cannot be looked at, as words that follow its name.

    >>> unseen(torch.ones(3, device="meta"))
    'on the meta device'
    >>> unseen(torch.ones(3)) is None
    True
    """
    if type(tensor).__torch_dispatch__ is not Tensor.__torch_dispatch__:
        return f"of class {type(tensor).__name__}"
    if tensor.is_meta:
        return "on the meta device"
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return "inside torch.func or vmap"
    if torch.compiler.is_compiling():
        return "in a graph that is compiled"
    if tensor.is_cuda and torch.cuda.is_current_stream_capturing():
        return "in a CUDA graph that is captured"
    return None
