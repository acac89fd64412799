"""What the best kernel multiplies for a call, and for a narrower pattern in its place."""

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from attncost.core.dims import Dims
from attncost.core.options import Options
from attncost.kernels.choose import every, expected, ranked
from attncost.kernels.interface import Call, Kernel
from attncost.patterns.interface import Pattern
from attncost.view.prices.pieces import within
from attncost.view.seen import Seen

Share: TypeAlias = Callable[[Pattern], float]


def share_of(seen: Seen) -> Share:
    """Return the function that says which share of a call's FLOPs a narrower pattern would take.

    Both are what the kernel multiplies that `attention` would take for them, whole tiles and all.
    Pairs that a fused causal call leaves out are not among them, though every counter, ours too,
    counts them: else a window would seem twice as cheap as it is. It may exceed 1.
    """
    own = executed(seen, seen.pattern)

    @cache
    def share(pattern: Pattern) -> float:
        return executed(seen, within(seen, pattern)) / own if own else 1.0

    return share


def is_faster(seen: Seen, pattern: Pattern) -> bool:
    """Say whether a narrower pattern takes less time, too, by the table of `kernels.rates`.

    Short calls in many steps do not, whatever they leave out.
    """
    own, narrower = (_best(seen, one) for one in (seen.pattern, within(seen, pattern)))
    return expected(*narrower) < expected(*own)


def executed(seen: Seen, pattern: Pattern) -> int:
    """Return the FLOPs that the best kernel executes for the tensors of a call."""
    kernel, call = _best(seen, pattern)
    work, dims = kernel.work(call), call.dims
    pairs = dims.batch * dims.heads * (work.pairs - work.skipped)
    return int(2 * pairs * (work.head_dim + work.value_dim))


def _best(seen: Seen, pattern: Pattern) -> tuple[Kernel, Call]:
    values = seen.k if seen.v is None else seen.v
    dims = Dims.of(seen.q.shape, seen.k.shape, values.shape, itemsize=seen.q.element_size())
    call = Call(pattern, dims, Options(**seen.wishes), device=seen.q.device.type)
    return every()[ranked(call)[0]], call
