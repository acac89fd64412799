"""Leaving a module as it was: buffers, gradients, random numbers, compiled code."""

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def untouched(root: object, inputs: Iterable[Tensor]) -> Iterator[None]:
    """Undo what calling a module does to it, also after an exception.

    What a module keeps outside buffers, such as a cache in an attribute, is not known here.

    Args:
        root: The module, or a function.
        inputs: Tensors whose gradients are kept, too.
    """
    parameters = list(root.parameters()) if isinstance(root, nn.Module) else []
    with ExitStack() as stack:
        stack.enter_context(_random_numbers([*parameters, *inputs]))
        stack.enter_context(_gradients([*parameters, *inputs]))
        if isinstance(root, nn.Module):
            stack.enter_context(_buffers(root))
        # PyTorch advises those who want speed; a count wants none.
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        # Without Dynamo nothing was compiled, and importing it takes seconds.
        if "torch._dynamo" in sys.modules:
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        yield


@contextmanager
def _random_numbers(tensors: list[Tensor]) -> Iterator[None]:
    devices = {tensor.device for tensor in tensors if tensor.device.type == "cuda"}
    with torch.random.fork_rng(devices=list(devices)):
        yield


@contextmanager
def _gradients(tensors: list[Tensor]) -> Iterator[None]:
    """Take gradients away for a while, so that the backward pass has nothing to add to."""
    kept = [(leaf, leaf.grad) for leaf in tensors if leaf.is_leaf]
    for leaf, _ in kept:
        leaf.grad = None
    try:
        yield
    finally:
        for leaf, grad in kept:
            leaf.grad = grad


@contextmanager
def _buffers(module: nn.Module) -> Iterator[None]:
    kept = [
        (owner, name, buffer, buffer.clone())
        for owner in module.modules()
        for name, buffer in owner._buffers.items()
        if buffer is not None
    ]
    try:
        yield
    finally:
        with torch.no_grad():
            for owner, name, buffer, copy in kept:
                owner._buffers[name] = buffer
                if not buffer.is_meta:
                    buffer.copy_(copy)
