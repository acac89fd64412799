"""Leaving modules as they were: buffers, gradients, random numbers, compiled code."""

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn

from attncost.core.unseen import unseen


@contextmanager
def untouched(modules: Iterable[nn.Module], inputs: Iterable[Tensor]) -> Iterator[None]:
    """Undo what a call does to modules, also after an exception.

    What a module keeps outside buffers, such as a cache in an attribute, and parameters that it
    writes to itself are not known here.

    Args:
        modules: All of them, one by one.
        inputs: Tensors whose gradients are kept, too.
    """
    modules = list(modules)
    parameters = [p for module in modules for p in module.parameters(recurse=False)]
    with ExitStack() as stack:
        stack.enter_context(_random_numbers([*parameters, *inputs]))
        stack.enter_context(gradients_kept([*parameters, *inputs]))
        for module in modules:
            stack.enter_context(_buffers(module))
        # PyTorch advises those who want speed; a count wants none.
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        # Without Dynamo nothing was compiled, and importing it takes seconds.
        if "torch._dynamo" in sys.modules:
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        yield


@contextmanager
def gradients_kept(tensors: Iterable[Tensor]) -> Iterator[None]:
    """Take gradients away for a while, so that a backward pass has nothing to add to."""
    kept = [(leaf, leaf.grad) for leaf in tensors if leaf.is_leaf]
    for leaf, _ in kept:
        leaf.grad = None
    try:
        yield
    finally:
        for leaf, grad in kept:
            leaf.grad = grad


@contextmanager
def _random_numbers(tensors: list[Tensor]) -> Iterator[None]:
    devices = {tensor.device for tensor in tensors if tensor.device.type == "cuda"}
    with torch.random.fork_rng(devices=list(devices)):
        yield


@contextmanager
def _buffers(module: nn.Module) -> Iterator[None]:
    named = dict(module._buffers.items())
    kept = [(buffer, buffer.clone()) for buffer in named.values() if buffer is not None]
    try:
        yield
    finally:
        # What TorchScript made cannot gain or lose any.
        if isinstance(module._buffers, dict):
            module._buffers.clear()
            module._buffers.update(named)
        for buffer, copy in kept:
            _restore(buffer, copy)


def _restore(buffer: Tensor, copy: Tensor) -> None:
    """Write values back, if they changed: a graph of the caller's may wait for them."""
    with torch.inference_mode(buffer.is_inference()), torch.no_grad():
        if buffer.shape != copy.shape:
            buffer.resize_(copy.shape)
        # Norms move their statistics without a word to autograd, so numbers are compared.
        if not unseen(buffer) and not torch.equal(buffer, copy):
            buffer.copy_(copy)
