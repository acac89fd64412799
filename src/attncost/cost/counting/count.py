"""Counting what one call of a module costs."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map_only

from attncost.core.errors import ShapeError
from attncost.cost.counting.backward import leaves_of, next_number, targets_of
from attncost.cost.counting.counted import Counted
from attncost.cost.counting.parts import class_of, parts_of
from attncost.cost.counting.untouched import gradients_kept, untouched
from attncost.cost.counting.watch import Watch


def count(
    module: nn.Module | Callable[..., Any],
    /,
    *inputs: Any,  # noqa: ANN401 -- the module's
    training: bool = False,
    **options: Any,  # noqa: ANN401 -- the module's
) -> Counted:
    """Call a module once, and return what that costs: FLOPs, elementwise operations, bytes.

    The module is called as it stands: its own mode of training or evaluation and the surrounding
    `no_grad` or `inference_mode` stay. Real, fake and meta tensors give the same FLOPs; with meta
    tensors nothing is computed and a model needs no weights. Compiled code is run as it was
    written. Buffers, gradients and random numbers are put back afterwards.

    Not seen are what leaves PyTorch (NumPy, other threads) and what a module keeps elsewhere, such
    as a cache in an attribute. A model of transformers on meta needs `use_cache=True`: without a
    cache it looks at numbers.

    >>> import attncost as ac
    >>> import torch
    >>> layer = ac.nn.Attention(64, 4, ac.Causal()).to("meta")
    >>> found = ac.count(layer, torch.empty(1, 128, 64, device="meta"))
    >>> found.dense, found.useful
    (8388608, 6307840)

    Args:
        module: A module, or any function of tensors.
        *inputs: What it is called with.
        training: Count the backward pass, too: from `loss` if the output has one that is set, or
            else from everything in it that has a gradient.
        **options: What it is called with by keyword.

    Raises:
        ShapeError: If a module is lazy; if `training` is asked for and nothing has a gradient, or
            the gradient goes back to what was computed before, or would train the module.
    """
    if not callable(module):
        raise ShapeError(f"module must be a module or a function, got {module!r}.")
    if training and not torch.is_grad_enabled():
        raise ShapeError("training=True needs gradients, which are off here: leave no_grad.")
    # What the caller computed before is no part of the module.
    inputs, options = tree_map_only(Tensor, _leaf, (inputs, options))
    given = [x for x in tree_leaves((inputs, options)) if isinstance(x, Tensor)]
    parts = parts_of(module)
    watch, before = Watch(class_of(module), parts), next_number()
    with untouched(parts.values(), given):
        with watch:
            output = module(*inputs, **options)
        if training:
            targets = targets_of(output)
            ones = [torch.ones_like(target) for target in targets]
            with gradients_kept(leaves_of(targets, before)), watch:
                torch.autograd.backward(targets, ones)
    return watch.counted(parameters=_parameters(parts))


def _leaf(tensor: Tensor) -> Tensor:
    return tensor if tensor.is_leaf else tensor.detach().requires_grad_(tensor.requires_grad)


def _parameters(parts: dict[str, nn.Module]) -> int:
    every = {id(p): p.numel() for part in parts.values() for p in part.parameters(recurse=False)}
    return sum(every.values())
