"""What is worked out of a tensor once, for all the layers that are handed that same tensor."""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar, final
from weakref import ref

from torch import Tensor

T = TypeVar("T")


class _Made(NamedTuple, Generic[T]):
    anchor: "ref[Tensor]"
    of: tuple[object, ...]
    value: T


@final
class Once(Generic[T]):
    """Values made of tensors, each kept while its tensor lives and is not changed in place.

    A model makes its mask once for a forward pass and hands it to every layer, or a slice of it.
    """

    def __init__(self, make: Callable[[Tensor], T]) -> None:
        self._make = make
        self._made: dict[tuple[object, ...], _Made[T]] = {}

    def __call__(self, tensor: Tensor) -> T:
        """Return what is made of a tensor."""
        anchor = tensor if tensor._base is None else tensor._base
        shown = tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.dtype
        key, version = (id(anchor), *shown), _version(anchor)
        found = self._made.get(key)
        if found is not None and found.anchor() is anchor and found.of == (version,):
            return found.value
        made = self._make(tensor)
        self._made = {key: one for key, one in self._made.items() if one.anchor() is not None}
        self._made[key] = _Made(ref(anchor), (version,), made)
        return made


def _version(tensor: Tensor) -> int | None:
    """Return how often a tensor was changed, which those made in inference mode do not tell."""
    return None if tensor.is_inference() else tensor._version
