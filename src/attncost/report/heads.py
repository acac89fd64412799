"""What the heads of a model attend to: a chapter of the report, with a link to their maps."""

from dataclasses import asdict, dataclass
from statistics import mean, median
from typing import Any, Final, final

from attncost.core.units import show
from attncost.draw.chart import Axis, Chart, Point, Series
from attncost.report.document import Chapter, Column, Figure, Finding, Link, Section, Table
from attncost.report.head_rows import HALF, RESTS, HeadRow, Heads, telling_width
from attncost.view.prices.layers import LayerPrice
from attncost.view.prices.words import change
from attncost.view.statistics.summaries import MASS

# Heads that are listed one by one, the first ones of a model that has more.
_EACH: Final = 144
_SHOWN: Final = 5
_MASS: Final = f"{100 * MASS:.0f} %"
_HELD: Final = f"{_MASS} within"
_LINK: Final = "The map of every head, exact, with what a window would cost it"
PRIVACY: Final = (
    "The maps contain the tokens of the text and the model's activations: who has the page can "
    "read both."
)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Mapped:
    """Heads, and the page that shows their maps.

    Attributes:
        heads: The heads.
        page: Its name; it lies beside the report. Empty if there is none.
        command: What makes it.
    """

    heads: Heads
    page: str
    command: str


def heads_chapter(mapped: Mapped) -> Chapter:
    """Return what a report says of heads."""
    found, command, page = mapped.heads, mapped.command, mapped.page
    section = Section(
        title="What its heads attend to",
        text=(
            described(found),
            *explained(found),
            *swap_lines(found),
            *found.missing,
            *((PRIVACY,) if page else ()),
        ),
        links=(Link(_LINK, page),) if page else (),
        blocks=(layer_table(found, command), *_figure(mapped)),
    )
    return Chapter(tuple(heads_findings(found, command)), section)


def heads_findings(found: Heads, command: str) -> list[Finding]:
    """Return what matters most of all heads, each in a line of 80 columns."""
    widths = [row.width for row in found.rows if row.width is not None]
    near = [_near(widths, found)] if widths and found.length > 1 else []
    findings = [*near, _resting(found, again=bool(near))]
    text = "; ".join(words for words, _ in findings)
    values: dict[str, Any] = {"heads": len(found.rows), "length": found.length}
    for _, numbers in findings:
        values |= numbers
    listed = [
        Finding(key="heads", text=f"{text[0].upper()}{text[1:]}.", values=values, command=command)
    ]
    return [*listed, *(_swap(found, best, command) for best in found.swaps[:1])]


def heads_facts(found: Heads) -> dict[str, Any]:
    """Return the numbers of every head and layer as plain data."""
    return {
        "read": found.read,
        "left_out": found.left_out,
        "length": found.length,
        "heads": [asdict(row) for row in found.rows],
        "layers": [
            {
                "layer": name,
                "share": price.share,
                "swap": price.line,
                "damage": price.damage,
                "sentence": price.sentence,
            }
            for name, price in found.prices.items()
        ],
    }


def described(found: Heads) -> str:
    """Say what was read, and what of it was not."""
    verb = "is" if found.left_out.startswith("1 ") else "are"
    rest = f" {found.left_out} more {verb} left out." if found.left_out else ""
    return f"{found.read}.{rest}"


def explained(found: Heads) -> tuple[str, ...]:
    """Say what the columns of heads mean."""
    return (
        f"{_HELD}: tokens near a query, itself included, on which {_MASS} of its mass lies on "
        f"average, behind it and, where it reads ahead, on each side. First {found.first}, self, "
        "previous and special (what the tokenizer adds): mass on those. Entropy is in nats; rank "
        "is the effective rank of the pooled map (Roy & Vetterli 2007).",
        *_apart(found),
    )


def _apart(found: Heads) -> tuple[str, ...]:
    """Say which heads have no distance."""
    count = sum(row.width is None for row in found.rows)
    if not count:
        return ()
    heads = (
        "1 head of cross attention has" if count == 1 else f"{count} heads of cross attention have"
    )
    return (f"{heads} no distance, as keys come from another sequence.",)


def swap_lines(found: Heads) -> tuple[str, ...]:
    """Return the cheapest lines that swap a window in, with what each changes."""
    if found.prices and not found.swaps:
        return (f"No window that holds {_MASS} of a layer's mass is cheaper here.",)
    return tuple(
        f"{one.line}: {show(one.share or 0.0, 'times')} the attention of its layer{_moved(one)}."
        for one in found.swaps[:_SHOWN]
    )


def layer_table(found: Heads, command: str) -> Table:
    """Return a row a layer, medians and means over its heads."""
    called = found.labels
    rows = tuple((called[call], *_of(rows)) for call, rows in found.calls.items())
    return Table(
        title="Heads by layer",
        columns=(Column("layer"), *_columns(found)),
        rows=rows,
        note=f"{_HELD}: the median of the heads; else their mean.",
        command=command,
    )


def _columns(found: Heads) -> tuple[Column, ...]:
    return (
        Column(_HELD, "tokens"),
        Column(f"first {found.first}", "percent"),
        Column("self", "percent"),
        Column("previous", "percent"),
        Column("special", "percent"),
        Column("entropy", "count"),
        Column("rank", "count"),
    )


def _of(rows: list[HeadRow]) -> tuple[float | None, ...]:
    widths = [row.width for row in rows if row.width is not None]
    each = ("on_first", "on_self", "on_previous", "special", "entropy", "effective_rank")
    return (median(widths) if widths else None, *(_mean(rows, name) for name in each))


def _mean(rows: list[HeadRow], name: str) -> float | None:
    values = [getattr(row, name) for row in rows]
    return None if None in values else mean(values)


def _near(widths: list[int], found: Heads) -> tuple[str, dict[str, Any]]:
    kind = "head" if len(widths) == len(found.rows) else "self-attention head"
    width = telling_width(widths, found.length)
    within = width or found.length // 2
    count = 0 if width is None else sum(one <= width for one in widths)
    tokens = "1 token" if within == 1 else f"{within:,} tokens"
    if len(widths) == 1:
        keeps = "keeps" if count else "does not keep"
        words = f"its {kind} {keeps} {_MASS} within {tokens}"
    else:
        keeps = "keep" if count > 1 else "keeps"
        words = f"{count or 'none'} of {len(widths)} {kind}s {keeps} {_MASS} within {tokens}"
    return words, {"within": within, "near": count}


def _resting(found: Heads, *, again: bool) -> tuple[str, dict[str, Any]]:
    """Say how many heads rest on the first tokens; `again` if heads were spoken of before."""
    count = sum(row.on_first >= RESTS for row in found.rows)
    if len(found.rows) == 1:
        who, rests = "it" if again else "its head", "rests" if count else "does not rest"
    else:
        who, rests = f"{count or 'none'}", "rests" if count == 1 else "rest"
    return f"{who} {rests} on the first {found.first}", {"resting": count}


def _swap(found: Heads, price: LayerPrice, command: str) -> Finding:
    assert price.share is not None, "it has a line"
    # A layer of several calls has one price.
    label = next(of for (name, _), of in found.labels.items() if name == price.name)
    label = label.partition(" (call ")[0]
    layer = f"layer {label}" if label.isdecimal() else label
    return Finding(
        key="swap",
        text=f"Cheapest swap, {layer}: {show(price.share, 'times')}{_moved(price)}.",
        values={
            "layer": price.name,
            "line": price.line,
            "share": price.share,
            "damage": price.damage,
        },
        command=command,
    )


def _moved(price: LayerPrice) -> str:
    return "" if price.damage is None else f", moves the output {change(price.damage)}"


def _figure(mapped: Mapped) -> tuple[Figure, ...]:
    """Return how many heads stay within how many tokens, with the numbers of each."""
    found = mapped.heads
    near = [row for row in found.rows if row.width is not None and row.half_width is not None]
    if not near:
        return ()
    shares = {f"{100 * share:.0f} % of the mass": share for share in (MASS, HALF)}
    widths = {
        name: [(row.width if share == MASS else row.half_width) or 0 for row in near]
        for name, share in shares.items()
    }
    ladder = [1 << power for power in range((found.length - 1).bit_length() + 1)]
    chart = Chart(
        title="How many heads stay within how many tokens",
        description=f"Of {len(near)} heads, those whose mass lies within so many tokens.",
        x=Axis(label="tokens near the query", unit="tokens"),
        y=Axis(label="heads", unit="exact", log=False),
        series=tuple(
            Series(name, tuple(Point(w, sum(one <= w for one in of)) for w in ladder))
            for name, of in widths.items()
        ),
    )
    return (Figure(chart, _each(mapped)),)


def _each(mapped: Mapped) -> Table:
    """Return a row a head, of the first ones where there are many."""
    found = mapped.heads
    called, count = found.labels, len(found.rows)
    rows = tuple((called[row.layer, row.call], row.head, *_of([row])) for row in found.rows[:_EACH])
    note = ""
    if count > _EACH:
        rest = "; all are in the maps" if mapped.page else ""
        note = f"The first {_EACH} of {count:,} heads{rest}."
    return Table(
        title="Each head",
        columns=(Column("layer"), Column("head", "exact"), *_columns(found)),
        rows=rows,
        note=note,
        command=mapped.command,
    )
