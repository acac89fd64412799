"""What `attention` would do with a call: which kernel, why, at what cost, with what caveats."""

from dataclasses import dataclass, replace
from textwrap import fill
from typing import Unpack, final

from jaxtyping import Float
from torch import Tensor

from attncost.core.cost import Cost
from attncost.core.counts import ceil_div
from attncost.core.errors import UnknownName
from attncost.core.notebook import as_html
from attncost.core.options import Options, Wishes
from attncost.core.units import show
from attncost.kernels.calls import checked
from attncost.kernels.choose import every, expected, ranked
from attncost.kernels.read_pairs import read_pairs
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern

_UNCHECKED = (
    "compiled and accelerated calls do not keep NaN in a key from rows that may not read it."
)
_UNSEEN = "what {} may hide counts as useful, too."


@final
@dataclass(frozen=True, slots=True)
class Explanation:
    """What `attention` would do with a call.

    Attributes:
        kernel: The kernel that would run.
        cost: What it costs: useful, executed and dense FLOPs, bytes.
        pairs: Pairs of a query and a key in one head and one sequence: those that are read, and
            those that the kernel multiplies; where sequences or heads differ, the mean, rounded up.
        hiding: Options that may hide some of what counts as useful, as their numbers cannot be
            looked at: it is at most that.
        refused: Kernels that cannot honour the call, and why.
        others: Kernels that could, next best first, and how many times as long they would take by
            the table of `kernels.rates`: forward, in float32, on one thread of a CPU.
        caveats: What is not guaranteed, and memory that grows with the square of the length.
    """

    _repr_html_ = as_html

    kernel: str
    cost: Cost
    pairs: tuple[int, int]
    hiding: tuple[str, ...]
    refused: dict[str, str]
    others: dict[str, float]
    caveats: tuple[str, ...]

    def __str__(self) -> str:
        cost, (useful, executed) = self.cost, self.pairs
        most = "at most " if self.hiding else ""
        lines = [
            f"{self.kernel}: {show(cost.executed, 'flops')} executed, "
            f"{most}{show(cost.useful, 'flops')} useful, {show(cost.bytes, 'bytes')} moved",
            f"  pairs a head: {executed:,} multiplied, {most}{useful:,} read",
        ]
        lines += [f"  slower: {name}, {times:.3g} x" for name, times in self.others.items()]
        lines += [f"  refused: {name}, {reason}" for name, reason in self.refused.items()]
        lines += [f"  note: {caveat}" for caveat in self.caveats]
        return "\n".join(fill(line, 80, subsequent_indent="    ") for line in lines)


def explain(
    q: Float[Tensor, "b h n d"],
    k: Float[Tensor, "b g m d"],
    v: Float[Tensor, "b g m e"],
    pattern: Pattern = Full(),
    *,
    return_lse: bool = False,
    kernel: str = "auto",
    **wishes: Unpack[Wishes],
) -> Explanation:
    """Say what `attention` would do with the same arguments, without doing it.

    Raises:
        ShapeError: If the tensors do not belong together.
        UnsupportedOption: If the kernel asked for cannot honour the call.
        UnknownName: If there is no such kernel or option.
    """
    known = [*Wishes.__annotations__]
    for name in wishes:
        if name not in known:
            raise UnknownName("option of attention", name, known)
    call = checked(q, k, v, pattern, Options(return_lse=return_lse, **wishes))
    name, *others = ranked(call, kernel)
    found = every()
    times = {one: expected(found[one], call) for one in (name, *others)}
    reasons = {one: each.refuses(call) for one, each in found.items()}
    read, alike = read_pairs(call), call.dims.batch * call.dims.heads
    cost = found[name].cost(pattern, call.dims, call.options)
    everything = alike * pattern.pairs(call.dims.length, call.dims.kv_length)
    return Explanation(
        kernel=name,
        cost=_thinned(cost, read.pairs, everything),
        pairs=(ceil_div(read.pairs, alike) if alike else 0, found[name].work(call).pairs),
        hiding=read.unseen,
        refused={one: reason for one, reason in reasons.items() if reason},
        others={one: times[one] / times[name] for one in others},
        caveats=(
            *found[name].caveats(call),
            *([_UNSEEN.format(" and ".join(read.unseen))] if read.unseen else []),
            _UNCHECKED,
        ),
    )


def _thinned(cost: Cost, read: int, everything: int) -> Cost:
    """Return a cost in which so many of all pairs of the pattern are useful."""
    if read == everything:
        return cost
    steps = tuple((name, _thinned(step, read, everything)) for name, step in cost.steps)
    # Whole, as it is so many FLOPs for each of the pairs.
    return replace(cost, useful=cost.useful * read // everything, steps=steps)
