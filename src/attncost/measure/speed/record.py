"""Every operation that a call runs, with its sizes, seen by a run on fake tensors.

The run is that of `attncost.memory`, so nothing is computed, no weights are needed, and our own
kernels and the backward pass are met step by step. A tensor is as far away as the bytes that were
touched since it was touched last, this call following one like it.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeAlias, final
from weakref import finalize

from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map_only

from attncost.cost.counting.formulas.free import FREE
from attncost.cost.counting.formulas.traffic import stored
from attncost.cost.counting.prices import cost_of, price_for
from attncost.cost.counting.registry import ELEMENTWISE, Price, name_of
from attncost.cost.memory.listening import listening
from attncost.cost.memory.memory import memory
from attncost.measure.speed.operation import KEPT, Argument, Kind, Layout, Operation, Recording

# Blocks by number, with the bytes of each that were touched.
Touched: TypeAlias = list[tuple[int, int]]


def recorded(
    call: nn.Module | Callable[..., Any],
    /,
    *inputs: Any,  # noqa: ANN401 -- the call's
    training: bool = False,
    **options: Any,  # noqa: ANN401 -- the call's
) -> Recording:
    """Return the operations of a call; nothing is computed.

    Args:
        call: A module, or any function of tensors.
        *inputs: What it is called with; real, fake or meta tensors.
        training: Run the backward pass, too.
        **options: What it is called with by keyword.

    Raises:
        ShapeError: If it looks at numbers, or nothing has a gradient in training.
        UnsupportedOption: If tensors are of a class of their own.
    """
    return heard(lambda: memory(call, *inputs, training=training, **options))


def heard(run: Callable[[], object]) -> Recording:
    """Return the operations of whatever `memory` is asked meanwhile.

    Args:
        run: Asks it.
    """
    hearer = _Hearer()
    with listening(hearer.hear):
        run()
    return Recording(hearer.operations(), hearer.heap)


@final
class _Hearer:
    """Writes down what runs, and how much of the heap it takes at its worst moment."""

    def __init__(self) -> None:
        self._heard: list[tuple[Operation, Touched, Touched]] = []
        self._numbers: Final[dict[int, int]] = {}
        self._met = 0
        self._live = 0
        self.heap = 0

    def hear(
        self,
        func: Argument,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        out: Argument,
        module: str,
    ) -> None:
        """Write down one operation."""
        known = price_for(func)
        cost = None if known is None else cost_of(known, func, args, kwargs, out)
        kind, taken, made = _kind(known), _tensors((args, kwargs)), _tensors(out)
        for x in taken:
            self._meet(x, fresh=False)
        fresh = [size for x in made if (size := self._meet(x, fresh=True))]
        self.heap = max(self.heap, self._live)
        one = Operation(
            name=name_of(func),
            args=tree_map_only(Tensor, Layout.of, args),
            kwargs=tree_map_only(Tensor, Layout.of, kwargs),
            outputs=tuple(Layout.of(x) for x in made),
            kind=kind,
            module=module,
            cost=cost,
            fresh=tuple(fresh),
        )
        # An operation that reads few rows of a table says so in its cost.
        most = math.inf if cost is None else int(cost.bytes)
        self._heard.append((one, self._touched(taken, kind, most), self._touched(made, kind, most)))

    def _touched(self, tensors: list[Tensor], kind: Kind, most: float) -> Touched:
        if kind == "free":
            return []
        return [(self._numbers[_address(x)], int(min(stored(x), most))) for x in tensors]

    def _meet(self, tensor: Tensor, *, fresh: bool) -> int:
        """Give a block a number of its own; return its bytes if it is a new one."""
        storage = tensor.untyped_storage()
        if storage._cdata in self._numbers:
            return 0
        self._numbers[storage._cdata] = self._met
        self._met += 1
        size = int(storage.nbytes()) if fresh else 0
        held = size if size < KEPT else 0
        self._live += held
        finalize(storage, self._gone, storage._cdata, held).atexit = False
        return size

    def _gone(self, address: int, held: int) -> None:
        self._numbers.pop(address, None)
        self._live -= held

    def operations(self) -> tuple[Operation, ...]:
        """Return all of it, with how far away was what each read, in the second call of two."""
        last: dict[int | str, int] = {}
        clock, before, found = 0, 0, []
        for again in (False, True):
            for one, read, written in self._heard:
                if again:
                    far = tuple((size, clock - last[number]) for number, size in read)
                    since = clock - last[one.name]
                    found.append(replace(one, far=far, since=since, before=before))
                start = clock
                for number, size in (*read, *written):
                    clock += size
                    last[number] = clock
                before, last[one.name] = clock - start, clock
        return tuple(found)


def _kind(known: Price | None) -> Kind:
    if known is None:
        return ""
    if known == FREE:
        return "free"
    return "pointwise" if known.step == ELEMENTWISE else ""


def _address(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _tensors(tree: object) -> list[Tensor]:
    return [x for x in tree_leaves(tree) if isinstance(x, Tensor)]
