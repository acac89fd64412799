"""An operation with its sizes and without its numbers, and all of those that a call runs."""

from dataclasses import dataclass, field
from math import prod
from typing import Any, Final, Literal, TypeAlias, final

from torch import Tensor
from torch.utils._pytree import tree_leaves

from attncost.core.cost import Cost
from attncost.cost.counting.formulas.traffic import stored

# What an operation takes: PyTorch has no type for all of it.
Argument: TypeAlias = Any
# What glibc keeps of free memory at the end of its heap, once blocks of half of that were freed; a
# larger block is mapped alone and given back at once (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD,
# mallopt(3)).
KEPT: Final = 64 << 20
Kind: TypeAlias = Literal["free", "pointwise", ""]


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """A tensor without its numbers.

    Attributes:
        shape: Its sizes.
        strides: Elements between neighbours, by axis.
        dtype: Its type, by PyTorch's name.
        itemsize: Bytes of a number.
        bytes: What it keeps in memory.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    itemsize: int
    bytes: int

    @classmethod
    def of(cls, tensor: Tensor) -> "Layout":
        """Return the layout of a tensor."""
        shape = tuple(int(size) for size in tensor.shape)
        strides = tuple(int(step) for step in tensor.stride())
        kind = str(tensor.dtype).removeprefix("torch.")
        return cls(shape, strides, kind, tensor.itemsize, stored(tensor))

    @property
    def elements(self) -> int:
        """How many numbers it shows."""
        return prod(self.shape)

    @property
    def run(self) -> int:
        """How many numbers lie side by side, as they are shown.

        >>> Layout((2, 3, 4), (12, 4, 1), "float32", 4, 96).run
        24
        >>> Layout((3, 2, 4), (4, 12, 1), "float32", 4, 96).run
        4
        """
        length = 1
        for size, step in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size == 1:
                continue
            if step != length:
                break
            length *= size
        return length


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of a call.

    Attributes:
        name: Its name, such as `aten::mm`.
        args: What it took by position, layouts in place of tensors.
        kwargs: The same by keyword.
        outputs: What it returned.
        kind: `free` if no number is moved, `pointwise` if each is worked out by itself.
        module: The module that ran it, or whose gradient it is.
        cost: Its FLOPs and bytes, by formula; None if there is none.
        fresh: Bytes of new blocks of memory that it returned, block by block.
        far: Bytes that it read, and how far away they were.
        since: Bytes that were touched since an operation of its name ran.
        before: Bytes that the operation before touched.
    """

    name: str
    args: tuple[Argument, ...] = ()
    kwargs: dict[str, Argument] = field(default_factory=dict)
    outputs: tuple[Layout, ...] = ()
    kind: Kind = ""
    module: str = ""
    cost: Cost | None = None
    fresh: tuple[int, ...] = ()
    far: tuple[tuple[int, int], ...] = ()
    since: int = 0
    before: int = 0

    @property
    def inputs(self) -> tuple[Layout, ...]:
        """The tensors that it took."""
        taken = tree_leaves((self.args, self.kwargs), is_leaf=_is_layout)
        return tuple(x for x in taken if _is_layout(x))


@final
@dataclass(frozen=True, slots=True)
class Recording:
    """What a call runs.

    Attributes:
        operations: In order.
        heap: Bytes of all blocks that it makes on the heap and holds at its worst moment, those
            left out that the system maps one by one.
    """

    operations: tuple[Operation, ...]
    heap: int = 0

    @property
    def mapped(self) -> int:
        """Bytes of blocks that the system maps one by one."""
        return sum(size for one in self.operations for size in one.fresh if size >= KEPT)

    @property
    def widest(self) -> int:
        """Bytes of the largest block on the heap."""
        blocks = (size for one in self.operations for size in one.fresh if size < KEPT)
        return max(blocks, default=0)


def _is_layout(value: object) -> bool:
    return isinstance(value, Layout)
