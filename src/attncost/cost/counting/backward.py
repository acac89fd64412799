"""Where a backward pass begins and where it ends, seen before it runs."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from attncost.core.errors import ShapeError


def targets_of(output: object) -> list[Tensor]:
    """Return where the backward pass begins: at `loss`, if the output has one, or everywhere.

    Raises:
        ShapeError: If nothing in it has a gradient.
    """
    loss = getattr(output, "loss", None)
    leaves = [loss] if isinstance(loss, Tensor) else [*_within(output)]
    found = [x for x in leaves if isinstance(x, Tensor) and x.requires_grad]
    if not found:
        raise ShapeError(
            f"training=True needs an output with a gradient, and {type(output).__name__} here has "
            "none: expected parameters or inputs with requires_grad."
        )
    return found


def leaves_of(targets: list[Tensor], before: int) -> list[Tensor]:
    """Return all that a backward pass would add gradients to, in functions of anything, too.

    Args:
        targets: Where it begins.
        before: The number of the next node of autograd before the call.

    Raises:
        ShapeError: If it would go back beyond the call, or would train what it computes.
    """
    waiting, seen, found = [target.grad_fn for target in targets], set[Any](), []
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            found.append(leaf)
        elif node._sequence_nr() < before:
            raise ShapeError(
                f"training=True would go back through {node.name()}, which was computed before the "
                "call: detach what the module or function uses."
            )
        waiting += [one for one, _ in node.next_functions]
    if any(getattr(leaf, "_post_accumulate_grad_hooks", None) for leaf in found):
        raise ShapeError(
            "training=True would run hooks that a gradient sets off, such as an optimizer's, and "
            "train the module: take them away first."
        )
    return found


def next_number() -> int:
    """Return the number of the next node of autograd in this thread."""
    return int(torch.autograd._get_sequence_nr())  # type: ignore[attr-defined]


def _within(output: object) -> Iterator[object]:
    """Return what an output holds, in dataclasses, too."""
    for leaf in tree_leaves(output):
        if is_dataclass(leaf) and not isinstance(leaf, type):
            for field in fields(leaf):
                yield from _within(getattr(leaf, field.name))
        else:
            yield leaf
