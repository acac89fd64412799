"""Stand-ins for tensors: the same sizes, strides and shared storages, no numbers, on one device.

A real, fake or meta tensor becomes a fake one. What code looks at keeps its numbers: a single
number, and few whole ones on a CPU, which become a copy.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, final

import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_any, tree_map_only

from attncost.core.errors import UnsupportedOption
from attncost.core.unseen import unseen
from attncost.cost.memory.numbers import is_few

_TABLES: Final = ("_parameters", "_buffers")


@final
class Fakes:
    """Makes stand-ins, one for each tensor.

    Attributes:
        mode: The mode in which they live.
        home: Where all of them shall be.
    """

    def __init__(self, home: torch.device) -> None:
        self.mode: Final = FakeTensorMode(allow_non_fake_inputs=True)
        self.home: Final = home
        # What they stand for is kept with them, so that no other gets its number.
        self._known: dict[int, tuple[Tensor, Tensor]] = {}
        self._storages: dict[int, torch.UntypedStorage] = {}

    def of(self, tensor: Tensor) -> Tensor:
        """Return the stand-in of a tensor, a leaf with or without a gradient.

        Raises:
            UnsupportedOption: If it is of a class of its own, or sparse.
        """
        known = self._known.get(id(tensor))
        if known is not None:
            return known[1]
        fake: Tensor = self._made(tensor)
        if isinstance(tensor, nn.Parameter):
            fake = nn.Parameter(fake, requires_grad=tensor.requires_grad)
        else:
            fake.requires_grad_(tensor.requires_grad)
        self._known[id(tensor)] = (tensor, fake)
        # Met again it stands for itself.
        self._known[id(fake)] = (fake, fake)
        return fake

    def within(self, tree: Any) -> Any:  # noqa: ANN401 -- whatever a call takes
        """Return what a call takes, with stand-ins for the tensors in it."""
        return tree_map_only(Tensor, self.of, tree)

    def _made(self, tensor: Tensor) -> Tensor:
        _check_plain(tensor)
        if is_few(tensor) and unseen(tensor) is None:
            return self._copied(tensor)
        # Stand-ins are ordinary tensors, also where a call is made in inference mode.
        with torch.inference_mode(False), torch.no_grad(), self._off():
            elements = torch.empty(0, dtype=tensor.dtype, device="meta")
            elements.set_(
                self._storage(tensor), tensor.storage_offset(), tensor.shape, tensor.stride()
            )
            constant = None
            if tensor.numel() == 1 and unseen(tensor) is None:
                constant = tensor.detach().to(self.home, copy=True)
            return FakeTensor(self.mode, elements, self.home, constant=constant)

    def _storage(self, tensor: Tensor) -> torch.UntypedStorage:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._storages:
            self._storages[storage._cdata] = torch.UntypedStorage(storage.nbytes(), device="meta")
        return self._storages[storage._cdata]

    def _copied(self, tensor: Tensor) -> Tensor:
        """Return a tensor with the same numbers, which may be written to."""
        storage = tensor.untyped_storage()
        with torch.inference_mode(False), torch.no_grad(), self._off():
            if storage._cdata not in self._storages:
                self._storages[storage._cdata] = storage.clone().cpu()
            copy = torch.empty(0, dtype=tensor.dtype, device="cpu")
            copy.set_(
                self._storages[storage._cdata],
                tensor.storage_offset(),
                tensor.shape,
                tensor.stride(),
            )
            return copy

    def _off(self) -> Any:  # noqa: ANN401 -- PyTorch's is untyped
        return torch.utils._python_dispatch._disable_current_modes()


def _check_plain(tensor: Tensor) -> None:
    own = type(tensor).__torch_dispatch__ is not Tensor.__torch_dispatch__
    if (own and not isinstance(tensor, FakeTensor)) or tensor.layout != torch.strided:
        kind = type(tensor).__name__ if own else str(tensor.layout)
        raise UnsupportedOption(
            f"memory knows plain tensors and their storages, got one of {kind}: give the module "
            "and the call plain tensors."
        )


@contextmanager
def stood_in_for(parts: Iterable[nn.Module], fakes: Fakes) -> Iterator[None]:
    """Put stand-ins in the place of all tensors of modules, and put everything back in the end.

    Tensors in plain attributes, and in lists, tuples and dictionaries there, are replaced as well.

    Args:
        parts: All modules, one by one.
        fakes: Makes the stand-ins.
    """
    parts = list(parts)
    before = [
        (vars(part), dict(vars(part)), [dict(vars(part)[table]) for table in _TABLES])
        for part in parts
    ]
    try:
        for attributes, names, _ in before:
            for table in _TABLES:
                attributes[table].update(fakes.within(dict(attributes[table])))
            for name, value in names.items():
                if name not in _TABLES and _holds_tensors(value):
                    attributes[name] = fakes.within(value)
        yield
    finally:
        for attributes, names, tables in before:
            for table, tensors in zip(_TABLES, tables, strict=True):
                names[table].clear()
                names[table].update(tensors)
            attributes.clear()
            attributes.update(names)


def _holds_tensors(value: object) -> bool:
    containers = (Tensor, list, tuple, dict)
    return isinstance(value, containers) and tree_any(lambda x: isinstance(x, Tensor), value)
