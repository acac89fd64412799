"""Attention written by hand: scores on their way from a product to a softmax.

A mask that is put on scores after they were multiplied is no argument of any product. What it hides
was multiplied all the same, so a count of what is useful is then an upper bound, and says so.
"""

from collections.abc import Iterable
from typing import Final, final

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import _disable_current_modes

from attncost.core.unseen import unseen
from attncost.cost.counting.registry import ACTIVATIONS, ELEMENTWISE
from attncost.cost.counting.weights import address

MASKED: Final = (
    "a mask was put on scores that were multiplied by hand, and what it hides is not known"
)


@final
class Scores:
    """Follows products of two activations through all that is done to them before a softmax."""

    def __init__(self) -> None:
        self._held: dict[int, StorageWeakRef] = {}
        self._masked: set[int] = set()

    def masked(
        self, name: str, step: str, tensors: list[Tensor], results: Iterable[Tensor]
    ) -> bool:
        """Note an operation, and say whether it is a softmax of scores under a mask.

        Args:
            name: The operation.
            step: What it is.
            tensors: What it took.
            results: What it returned.
        """
        if name.endswith("softmax"):
            return any(address(tensor) in self._masked for tensor in tensors)
        if step == ACTIVATIONS:
            addend = tensors[:1] if len(tensors) > 2 else []
            self._hold(results, masked=any(map(_masks, addend)))
        elif _makes_new(name):
            return False
        elif any(address(tensor) in self._held for tensor in tensors):
            before = any(address(tensor) in self._masked for tensor in tensors)
            # What moves numbers, such as a cast or joining a sink, hides none.
            others = tensors if step == ELEMENTWISE else []
            added = any(address(x) not in self._held and _masks(x) for x in others)
            self._hold(results, masked=before or added)
        return False

    def _hold(self, results: Iterable[Tensor], *, masked: bool) -> None:
        for result in results:
            place = address(result)
            self._held.setdefault(place, StorageWeakRef(result.untyped_storage()))
            if masked:
                self._masked.add(place)


def _masks(tensor: Tensor) -> bool:
    """Say whether a tensor beside scores may hide some: it has keys, and is not all zeros."""
    if tensor.dim() < 2 or tensor.shape[-1] < 2:
        return False
    if unseen(tensor):
        return True
    with _disable_current_modes():
        return bool(torch.any(tensor != 0))


def _makes_new(name: str) -> bool:
    """Say whether an operation takes the sizes of a tensor and not its numbers."""
    return name.endswith("_like") or "::new_" in name
