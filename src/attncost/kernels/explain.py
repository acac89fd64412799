"""What `attention` would do with a call: which kernel, why, at what cost, with what caveats."""

from dataclasses import dataclass
from typing import Any, final

from jaxtyping import Float
from torch import Tensor

from attncost.core.cost import Cost
from attncost.core.options import Options
from attncost.kernels.calls import checked
from attncost.kernels.choose import every, ranked
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern

_UNCHECKED = (
    "compiled and accelerated calls do not keep NaN in a key from rows that may not read it."
)
_UNSEEN = "useful counts what the pattern reads; {} may hide some of it."


@final
@dataclass(frozen=True, slots=True)
class Explanation:
    """What `attention` would do with a call.

    Attributes:
        kernel: The kernel that would run.
        cost: What it costs: useful, executed and dense FLOPs, bytes.
        refused: Kernels that cannot honour the call, and why.
        others: Kernels that could, next best first, and the FLOPs that they would execute.
        caveats: What is not guaranteed, and memory that grows with the square of the length.
    """

    kernel: str
    cost: Cost
    refused: dict[str, str]
    others: dict[str, int]
    caveats: tuple[str, ...]

    def __str__(self) -> str:
        cost = self.cost
        lines = [f"{self.kernel}: {cost.useful:,} useful of {cost.executed:,} executed FLOPs"]
        lines += [f"  also: {name}, {flops:,} FLOPs" for name, flops in self.others.items()]
        lines += [f"  refused: {name}, {reason}" for name, reason in self.refused.items()]
        return "\n".join(lines + [f"  note: {caveat}" for caveat in self.caveats])


def explain(
    q: Float[Tensor, "b h n d"],
    k: Float[Tensor, "b g m d"],
    v: Float[Tensor, "b g m e"],
    pattern: Pattern = Full(),
    *,
    kernel: str = "auto",
    **options: Any,  # noqa: ANN401 -- `Options` checks them
) -> Explanation:
    """Say what `attention` would do with the same arguments, without doing it."""
    call = checked(q, k, v, pattern, Options(**options))
    name, *others = ranked(call, kernel)
    found = every()
    reasons = {name: one.refuses(call) for name, one in found.items()}
    hiding = [name for name in ("key_mask", "segments") if name in call.options.wishes()]
    return Explanation(
        kernel=name,
        cost=found[name].cost(pattern, call.dims, call.options),
        refused={name: reason for name, reason in reasons.items() if reason},
        others={name: found[name].cost(pattern, call.dims).executed for name in others},
        caveats=(
            *found[name].caveats(call),
            *([_UNSEEN.format(" and ".join(hiding))] if hiding else []),
            _UNCHECKED,
        ),
    )
