"""The running sums of a count, and what they are at its end."""

from collections import Counter
from dataclasses import replace
from typing import final

from torch import Tensor
from torch.utils._pytree import tree_leaves

from attncost.core.cost import Cost
from attncost.cost.counting.apis.interface import AttentionCall
from attncost.cost.counting.counted import AttentionRow, Phase, Row, Unpriced


@final
class Tally:
    """Adds up operations; numbers alone, so that a long count stays quick."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, Phase, str, str], list[int]] = {}
        self._attention: dict[tuple[str, str, tuple[int, ...], str | None], list[int]] = {}
        self._reasons: dict[str, None] = {}
        self._unpriced: Counter[tuple[str, str, tuple[tuple[int, ...], ...]]] = Counter()

    def add(self, module: str, phase: Phase, step: str, operation: str, cost: Cost) -> None:
        """Add a call of an operation; what runs again is no part of the model, only executed."""
        if phase == "recomputation":
            cost = replace(cost, useful=0, dense=0, steps=())
        sums = self._rows.setdefault((module, phase, step, operation), [0, 0, 0, 0, 0, 0])
        counts = (1, cost.useful, cost.executed, cost.dense, cost.elementwise, cost.bytes)
        for place, number in enumerate(counts):
            sums[place] += int(number)

    def attention(self, module: str, function: str, call: AttentionCall) -> None:
        """Note a call of attention in the forward pass."""
        sizes = call.dims
        shape = (
            *(int(size) for size in (sizes.batch, sizes.heads, sizes.kv_heads)),
            *(int(size) for size in (sizes.length, sizes.kv_length)),
            *(int(size) for size in (sizes.head_dim, sizes.value_dim)),
        )
        sums = self._attention.setdefault((module, function, shape, call.unknown), [0, 0, 0, 0])
        for place, pairs in enumerate((call.useful, call.executed, call.dense, 1)):
            sums[place] += int(pairs)

    def unknown(self, reason: str) -> None:
        """Note why `useful` is only an upper bound."""
        self._reasons[reason] = None

    def reasons(self) -> tuple[str, ...]:
        """Return these reasons."""
        return tuple(self._reasons)

    def unpriced(self, module: str, operation: str, arguments: object) -> None:
        """Note a call that nothing prices."""
        shapes = tuple(tuple(x.shape) for x in tree_leaves(arguments) if isinstance(x, Tensor))
        self._unpriced[module, operation, shapes] += 1

    def rows(self) -> tuple[Row, ...]:
        """Return what was added, in the order in which it came first."""
        return tuple(
            Row(
                module=module,
                phase=phase,
                step=step,
                operation=operation,
                calls=calls,
                cost=Cost(
                    useful=useful, executed=executed, dense=dense, elementwise=own, bytes=moved
                ),
            )
            for (module, phase, step, operation), (
                calls,
                useful,
                executed,
                dense,
                own,
                moved,
            ) in self._rows.items()
        )

    def attention_rows(self) -> tuple[AttentionRow, ...]:
        """Return the calls of attention."""
        return tuple(
            AttentionRow(
                module=module,
                function=function,
                shape=shape,  # type: ignore[arg-type]
                useful=useful,
                executed=executed,
                dense=dense,
                calls=calls,
                unknown=unknown,
            )
            for (module, function, shape, unknown), (
                useful,
                executed,
                dense,
                calls,
            ) in self._attention.items()
        )

    def unpriced_rows(self) -> tuple[Unpriced, ...]:
        """Return what nothing prices, most frequent first."""
        return tuple(
            Unpriced(module=module, operation=operation, shapes=shapes, calls=calls)
            for (module, operation, shapes), calls in self._unpriced.most_common()
        )
