"""What every other attention would cost at a model's sizes, and from which length it wins."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from attncost.core.counts import Count
from attncost.core.dims import Dims
from attncost.core.options import Options
from attncost.core.units import show
from attncost.cost.configuration import Configuration
from attncost.cost.crossover import crossover
from attncost.cost.derivation import searchable
from attncost.draw.chart import MOST_SERIES, Axis, Chart
from attncost.kernels.choose import best
from attncost.kernels.interface import Call, priced
from attncost.mechanisms.interface import Priced
from attncost.mechanisms.spelling import known, spelled, spelling
from attncost.patterns.interface import Pattern
from attncost.report.document import Chapter, Column, Figure, Finding, Section, Table
from attncost.report.kind import FORMULA_ONLY, kind
from attncost.report.priced import curve, key

Found = Mapping[str, Pattern | Priced | None]

_STEP: Final = 64  # tokens between two lengths at which kernels are compared
_FARTHEST: Final = 4096


def alternatives(model: Configuration, *, lengths: Sequence[int], command: str) -> Chapter:
    """Return the price of every attention in place of a model's own of softmax.

    What has a price alone is in the tables, and never the cheapest that the finding speaks of.

    Args:
        model: The sizes.
        lengths: Tokens, increasing; the table is for the last.
        command: What reproduces it.
    """
    longest = lengths[-1]
    found: dict[str, Pattern | Priced | None]
    found = {spelling(one): one for one in map(spelled, known())}
    found |= {_own(model): model.attention}
    runs = [name for name, one in found.items() if _kind(one) != FORMULA_ONLY]
    costs = {name: model.cost(longest, found[name]).useful for name in runs}
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
            Column("of own", "percent"),
            Column("of model", "percent"),
            Column("wins from", "tokens"),
            Column("executed", "tokens"),
        ),
        rows=tuple(_row(model, name, one, length) for name, one in found.items()),
        note=(
            "A name alone has the dials of the next table. Of own: FLOPs over those of the model's "
            "own attention; of model: the same for the whole model. Wins from: the length from "
            "which it takes fewer FLOPs than the model's own for good, up to "
            f"{_limit(model):,}; executed: the same for what our kernels multiply, whole blocks "
            "and all, but not what a fused call skips above the diagonal, every "
            f"{_STEP} tokens up to {_FARTHEST:,}; for a formula only, what a plain "
            "implementation would. Other keys or other values are another model: test or train it "
            "before you switch."
        ),
        command=command,
    )


def _curves(model: Configuration, found: Found, lengths: Sequence[int], command: str) -> Figure:
    drawn = _drawn(model, found, lengths[-1])
    chart = Chart(
        title=f"Attentions at the sizes of {model.name}",
        description=(
            f"FLOPs between the projections in all layers of {model.name} against tokens, for "
            f"{_told(drawn, found)}; a flatter line is cheaper at great lengths."
        ),
        x=Axis(label="tokens", unit="tokens"),
        y=Axis(label="attention alone", unit="flops"),
        series=tuple(curve(name, _useful(model, found[name]), lengths) for name in drawn),
    )
    table = Table(
        title=f"FLOPs of every attention at the sizes of {model.name}",
        columns=(Column("attention"), *(Column(f"{n:,} tokens", "flops") for n in lengths)),
        rows=tuple(
            (name, *(model.core(n, one).useful for n in lengths)) for name, one in found.items()
        ),
        command=command,
    )
    return Figure(chart, table)


def _limit(model: Configuration) -> int:
    return max(_FARTHEST, 4 * int(model.d_model))


def _drawn(model: Configuration, found: Found, length: int) -> list[str]:
    """Return the names of as many as a chart can hold: its own, then the cheapest."""
    own = _own(model)
    others = [name for name in found if name != own]
    others.sort(key=lambda name: int(model.core(length, found[name]).useful))
    return [own, *others[: MOST_SERIES - 1]]


def _told(drawn: list[str], found: Found) -> str:
    left = len(found) - len(drawn)
    return f"its own and the cheapest others, {left} more in the table" if left else "each"


def _short(name: str) -> str:
    """Leave dials out of a name that means the same without them."""
    word = name.partition(":")[0]
    return word if word in known() and spelling(spelled(word)) == name else name


def _kind(attention: Pattern | Priced | None) -> str:
    """Return the kind; a model's own of several patterns is exact."""
    return "exact" if attention is None else kind(attention)


def _own(model: Configuration) -> str:
    return "its own" if model.attention is None else spelling(model.attention)


def _useful(model: Configuration, attention: Pattern | Priced | None) -> Callable[[Count], Count]:
    return lambda n: model.core(n, attention).useful


def _row(
    model: Configuration, name: str, attention: Pattern | Priced | None, length: int
) -> tuple[Any, ...]:
    core, own = model.core(length, attention).useful, model.core(length).useful
    same = attention == model.attention
    limit = min(
        searchable(one, longest=_limit(model))
        for one in (model.patterns if attention is None else (attention,))
    )
    wins = crossover(_useful(model, attention), _useful(model, model.attention), limit=limit)
    return (
        _short(name),
        _kind(attention),
        core / own,
        model.cost(length, attention).useful / model.cost(length).useful,
        None if same else wins,
        None if same else _executed_wins(model, attention),
    )


def _executed_wins(model: Configuration, attention: Pattern | Priced | None) -> int | None:
    first = None
    for n in range(_FARTHEST, 0, -_STEP):
        if not _executed(model, attention, n) < _executed(model, model.attention, n):
            break
        first = n
    return first


@lru_cache(maxsize=1 << 12)  # the model's own is compared with every other
def _executed(model: Configuration, attention: Pattern | Priced | None, n: int) -> int:
    flops = 0
    for pattern, dims, times in model.calls(n):
        read = pattern if attention is None else attention
        flops += int(times) * _multiplied(read, dims)
    return flops


def _multiplied(read: Pattern | Priced, dims: Dims) -> int:
    """Return the FLOPs that our kernels multiply, without what a fused call skips."""
    if isinstance(read, Priced):
        return int(read.cost(dims).executed)
    work = best(read, dims).work(Call(read, dims, Options()))
    skipped = 2 * dims.heads * work.skipped * (work.head_dim + work.value_dim)
    return int(priced(read, dims, work).executed) - int(skipped)
