"""What every other attention would cost at a model's sizes, and from which length it wins."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from attncost.core.counts import Count
from attncost.core.units import show
from attncost.cost.configuration import Configuration
from attncost.cost.crossover import crossover
from attncost.cost.derivation import searchable
from attncost.draw.chart import MOST_SERIES, Axis, Chart
from attncost.kernels.choose import best
from attncost.mechanisms.interface import Mechanism
from attncost.mechanisms.spelling import known, spelled, spelling
from attncost.patterns.interface import Pattern
from attncost.report.document import Chapter, Column, Figure, Finding, Section, Table
from attncost.report.priced import curve, key

Found = Mapping[str, Pattern | Mechanism | None]

_STEP: Final = 64  # tokens between two lengths at which kernels are compared
_FARTHEST: Final = 4096


def alternatives(model: Configuration, *, lengths: Sequence[int], command: str) -> Chapter:
    """Return the price of every pattern and mechanism in place of a model's own softmax attention.

    Args:
        model: The sizes.
        lengths: Tokens, increasing; the table is for the last.
        command: What reproduces it.
    """
    longest = lengths[-1]
    found: dict[str, Pattern | Mechanism | None]
    found = {spelling(one): one for one in map(spelled, known())}
    found |= {_own(model): model.attention}
    costs = {name: model.cost(longest, one).useful for name, one in found.items()}
    cheapest = min(costs, key=lambda name: costs[name])
    share = costs[cheapest] / model.cost(longest).useful
    finding = Finding(
        key=f"cheapest_{key(model)}",
        text=(
            f"Cheapest in {model.name} at {longest:,}: {cheapest}, "
            f"{show(share, 'percent')} of FLOPs."
        ),
        values={"length": longest, "attention": cheapest, "share": share},
        command=command,
    )
    section = Section(
        title=f"Other attention in {model.name}",
        blocks=(_prices(model, found, longest, command), _curves(model, found, lengths, command)),
    )
    return Chapter((finding,), section)


def _prices(model: Configuration, found: Found, length: int, command: str) -> Table:
    return Table(
        title=f"In place of {_own(model)} at {length:,} tokens, {model.name}",
        columns=(
            Column("attention"),
            Column("kind"),
            Column("its FLOPs", "flops"),
            Column("of own", "percent"),
            Column("of model", "percent"),
            Column("wins from", "tokens"),
            Column("executed", "tokens"),
        ),
        rows=tuple(_row(model, name, one, length) for name, one in found.items()),
        note=(
            "Of own: its FLOPs over those of the model's own attention; of model: the same for the "
            "whole model. Wins from: the length from which it takes fewer FLOPs than the model's "
            f"own for good, up to {_limit(model):,}; executed: the same for what our kernels "
            f"multiply, whole blocks and all, every {_STEP} tokens up to {_FARTHEST:,}. Other keys "
            "or other values are another model: test or train it before you switch."
        ),
        command=command,
    )


def _curves(model: Configuration, found: Found, lengths: Sequence[int], command: str) -> Figure:
    chart = Chart(
        title=f"Every attention at the sizes of {model.name}",
        description=(
            f"FLOPs between the projections in all layers of {model.name} against tokens, for "
            f"{_drawn(found)}; a flatter line is cheaper at great lengths."
        ),
        x=Axis(label="tokens", unit="tokens"),
        y=Axis(label="attention alone", unit="flops"),
        series=tuple(
            curve(name, _useful(model, one), lengths)
            for name, one in list(found.items())[:MOST_SERIES]
        ),
    )
    table = Table(
        title=f"FLOPs of every attention at the sizes of {model.name}",
        columns=(Column("tokens", "tokens"), *(Column(name, "flops") for name in found)),
        rows=tuple((n, *(model.core(n, one).useful for one in found.values())) for n in lengths),
        command=command,
    )
    return Figure(chart, table)


def _limit(model: Configuration) -> int:
    return max(_FARTHEST, 4 * int(model.d_model))


def _drawn(found: Found) -> str:
    left = len(found) - MOST_SERIES
    return f"the first {MOST_SERIES} attentions, {left} more in the table" if left > 0 else "each"


def _own(model: Configuration) -> str:
    return "its own" if model.attention is None else spelling(model.attention)


def _useful(
    model: Configuration, attention: Pattern | Mechanism | None
) -> Callable[[Count], Count]:
    return lambda n: model.core(n, attention).useful


def _row(
    model: Configuration, name: str, attention: Pattern | Mechanism | None, length: int
) -> tuple[Any, ...]:
    core, own = model.core(length, attention).useful, model.core(length).useful
    same = attention == model.attention
    limit = min(
        searchable(one, longest=_limit(model))
        for one in (model.patterns if attention is None else (attention,))
    )
    wins = crossover(_useful(model, attention), _useful(model, model.attention), limit=limit)
    return (
        name,
        "approximate" if isinstance(attention, Mechanism) else "exact",
        core,
        core / own,
        model.cost(length, attention).useful / model.cost(length).useful,
        None if same else wins,
        None if same else _executed_wins(model, attention),
    )


def _executed_wins(model: Configuration, attention: Pattern | Mechanism | None) -> int | None:
    first = None
    for n in range(_FARTHEST, 0, -_STEP):
        if not _executed(model, attention, n) < _executed(model, model.attention, n):
            break
        first = n
    return first


@lru_cache(maxsize=1 << 12)  # the model's own is compared with every other
def _executed(model: Configuration, attention: Pattern | Mechanism | None, n: int) -> int:
    flops = 0
    for pattern, dims, times in model.calls(n):
        read = pattern if attention is None else attention
        cost = read.cost(dims) if isinstance(read, Mechanism) else best(read, dims).cost(read, dims)
        flops += int(cost.executed) * int(times)
    return flops
