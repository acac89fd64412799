"""What the allocator says of real calls, to hold predictions against."""

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from attncost.cost.memory.memory import memory
from attncost.measure.held.memory import MemoryMonitor


def targets(output):
    """Return where a backward pass begins: at the loss, if there is one."""
    loss = getattr(output, "loss", None)
    leaves = [loss] if loss is not None else tree_leaves(output)
    return [x for x in leaves if isinstance(x, Tensor) and x.requires_grad]


def forget(module, *inputs, **options):
    """Take all gradients away."""
    learned = list(module.parameters()) if isinstance(module, torch.nn.Module) else []
    for tensor in (*learned, *tree_leaves((inputs, options))):
        if isinstance(tensor, Tensor):
            tensor.grad = None


def step(module, *inputs, training=False, optimizer=None, **options):
    """Make one call as a user would, and return its output."""
    with torch.set_grad_enabled(training):
        output = module(*inputs, **options)
        if training:
            found = targets(output)
            torch.autograd.backward(found, [torch.ones_like(x) for x in found])
            del found
        if optimizer is not None:
            optimizer.step()
    return output


def measured(module, *inputs, optimizer=None, **options):
    """Return the peak of the second call of a kind, above what was there before, in bytes."""
    stepper = None if optimizer is None else optimizer(list(module.parameters()))
    step(module, *inputs, optimizer=stepper, **options)
    forget(module, *inputs, **options)
    with MemoryMonitor("cpu") as meter:
        kept = step(module, *inputs, optimizer=stepper, **options)
    forget(module, *inputs, **options)
    del kept
    return meter.peak


def predicted(module, *inputs, training=False, **options):
    """Return the footprint of such a call."""
    with torch.set_grad_enabled(training):
        return memory(module, *inputs, training=training, **options)
