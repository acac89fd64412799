"""Which tensors are weights: what tells a linear layer from a product of two activations."""

from collections.abc import Iterable
from typing import final

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef


@final
class Weights:
    """The parameters and buffers of a module, and whatever is made of nothing else.

    A cast, a transposed copy or a sum of weights (autocast, LoRA, quantised weights) is a weight,
    too. A buffer that an activation is written into, such as a cache, is none any more.
    """

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        # References that keep no memory, only its address from being given away again.
        self._held: dict[int, StorageWeakRef] = {}
        for module in modules:
            for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
                self._hold(tensor)

    def among(self, tensors: Iterable[Tensor]) -> bool:
        """Say whether any of them is a weight."""
        return any(map(self._known, tensors))

    def made(self, results: Iterable[Tensor], *, of: list[Tensor]) -> None:
        """Note what an operation returned, and what it took."""
        if of and all(map(self._known, of)):
            for result in results:
                self._hold(result)
        else:
            for result in results:
                self._held.pop(address(result), None)

    def _known(self, tensor: Tensor) -> bool:
        return isinstance(tensor, nn.Parameter) or address(tensor) in self._held

    def _hold(self, tensor: Tensor) -> None:
        if address(tensor):
            self._held.setdefault(address(tensor), StorageWeakRef(tensor.untyped_storage()))


def address(tensor: Tensor) -> int:
    """Return what tensors have in common that share memory; 0 for one that has none."""
    return int(tensor.untyped_storage()._cdata) if torch._C._has_storage(tensor) else 0
