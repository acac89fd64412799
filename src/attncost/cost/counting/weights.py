"""Which tensors are weights: what tells a linear layer from a product of two activations."""

from collections.abc import Iterable
from typing import final

import torch
from torch import Tensor, nn


@final
class Weights:
    """The learned tensors of a module, and whatever is made of nothing else.

    A cast, a transposed copy or a sum of weights (autocast, LoRA) is a weight, too.
    """

    def __init__(self, root: object) -> None:
        # Held, because the place of a tensor that is gone may be given to another.
        self._held: dict[int, Tensor] = {}
        if isinstance(root, nn.Module):
            for parameter in root.parameters():
                self._hold(parameter)

    def among(self, tensors: Iterable[Tensor]) -> bool:
        """Say whether any of them is a weight."""
        return any(map(self._known, tensors))

    def made_of(self, tensors: list[Tensor], results: Iterable[Tensor]) -> None:
        """Remember results that are made of weights alone."""
        if tensors and all(map(self._known, tensors)):
            for result in results:
                self._hold(result)

    def _known(self, tensor: Tensor) -> bool:
        return isinstance(tensor, nn.Parameter) or _place(tensor) in self._held

    def _hold(self, tensor: Tensor) -> None:
        place = _place(tensor)
        if place is not None:
            self._held.setdefault(place, tensor)


def _place(tensor: Tensor) -> int | None:
    """Return what tensors have in common that share memory."""
    if not torch._C._has_storage(tensor):
        return None
    return int(tensor.untyped_storage()._cdata)
