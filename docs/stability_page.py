"""The pictures and tables of the page about stability, made from the results of its benchmark.

An MkDocs hook: a comment `<!-- made: NAME -->` in `stability.md` gives way to what `MADE` makes of
`benchmarks/results/stability-cpu.json`. Losses that are worse than the one before training, or not
finite, stand at that one, as they do in the learning-rate sensitivity.
"""

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

from mkdocs.structure.pages import Page
from page_parts import charted, filled

from attncost.draw.chart import Axis, Chart, Point, Series
from attncost.train.stability.sensitivity import RATES, sensitivity

RESULTS: Final = Path(__file__).parents[1] / "benchmarks/results/stability-cpu.json"
_MODEL: Final = (
    "the recipe",
    "no LayerNorm",
    "norms after",
    "no QK-norm",
    "small start",
    "no norm at all",
)
_TRAINING: Final = ("the recipe", "no warm-up", "no clipping", "no decay", "all decays")
_ADVICE: Final = (
    "as advised",
    "advised - norms",
    "advised - AdamW",
    "advised - decay",
    "advised - warm-up",
)
# What is above is lost anyway, and would press all else to the ground.
_MOST: Final = 100.0
_WORST_RATES: Final = (3e-2, 3e-1)
Rows = list[dict[str, Any]]


def on_page_markdown(markdown: str, page: Page, **_: object) -> str | None:
    """Put pictures and tables where the page asks for them."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    made = {place: partial(one, found) for place, one in MADE.items()}
    return filled(markdown, page, name="stability.md", made=made)


def by_rate(names: Iterable[str], ident: str, title: str) -> Callable[[dict[str, Any]], str]:
    """Return what draws the loss after training by learning rate."""

    def made(found: dict[str, Any]) -> str:
        series = []
        for name in names:
            points = []
            for rate in RATES:
                ends = [_end(row) for row in _of(found["trials"], name, rate)]
                points.append(Point(rate, median(ends), min(ends), max(ends)))
            series += [Series(name, tuple(points), "markers", name)]
            series += [Series("", tuple(Point(p.x, p.y) for p in points), "line", name)]
        return charted(
            Chart(
                title=title,
                description="Nats of a byte held out after training by the peak of the learning "
                "rate: median of three seeds, and their range. A run that diverged stands at the "
                "loss before training.",
                x=Axis(label="learning rate"),
                y=Axis(label="nats of a byte, held out"),
                series=tuple(series),
            ),
            ident,
        )

    return made


def by_step(
    what: str, names: Iterable[str], rate: float, title: str
) -> Callable[[dict[str, Any]], str]:
    """Return what draws something of every step."""

    def made(found: dict[str, Any]) -> str:
        curves = {row["variant"]: row for row in found["curves"] if row["rate"] == rate}
        series = [Series(name, tuple(_points(curves[name], what)), "line") for name in names]
        cap = _CAPS[what]
        left = any(point.y == cap for one in series for point in one.points)
        return charted(
            Chart(
                title=title,
                description=f"{_LABELS[what].capitalize()} by step at a learning rate of "
                f"{rate:g}, seed 0." + f" A line that leaves the picture passed {cap:,.0f}." * left,
                x=Axis(label="step", unit="exact", log=False),
                y=Axis(label=_LABELS[what]),
                series=tuple(series),
            ),
            f"{what}-by-step",
        )

    return made


_LABELS: Final = {
    "loss": "nats of a byte, in training",
    "gradient_norm": "norm of the gradient",
    "largest_logit": "largest attention logit",
}
_CAPS: Final = {"loss": _MOST, "gradient_norm": 1e6, "largest_logit": 1e6}


def _points(curve: dict[str, Any], what: str) -> Iterable[Point]:
    values = [float(x) for x in curve[what].split()]
    steps = (
        [int(x) for x in curve["logit_steps"].split()]
        if what == "largest_logit"
        else range(len(values))
    )
    for step, value in zip(steps, values, strict=True):
        if not 0 < value < _CAPS[what]:
            yield Point(step, _CAPS[what])
            return
        yield Point(step, value)


def losses(found: dict[str, Any]) -> str:
    """Return the table of losses by rate, and of the sensitivity."""
    names = dict.fromkeys(("the recipe", *(row["variant"] for row in found["trials"])))
    lines = [
        f"| | {' | '.join(f'{rate:g}' for rate in RATES)} | sensitivity |",
        f"|:--|{'--:|' * (len(RATES) + 1)}",
    ]
    for name in names:
        cells = [_of(found["trials"], name, rate) for rate in RATES]
        if not all(cells):
            continue
        minds = [
            sensitivity([_end(row) for row in seed], start=seed[0]["start"])
            for seed in zip(*cells, strict=True)
        ]
        shown = [_middle([_end(row) for row in cell], cell) for cell in cells]
        half = (max(minds) - min(minds)) / 2
        lines.append(
            f"| {name} | {' | '.join(shown)} | {median(minds):.2f}&nbsp;±&nbsp;{half:.2f} |"
        )
    return "\n".join(lines)


def worst(*, advised: bool) -> Callable[[dict[str, Any]], str]:
    """Return what makes the table of what happened on the way, of the advice or of all else."""

    def made(found: dict[str, Any]) -> str:
        told = {"worst_loss": "loss", "worst_gradient": "gradient", "largest_logit": "logit"}
        heads = [f"{word} at {rate:g}" for word in told.values() for rate in _WORST_RATES]
        lines = [f"| | {' | '.join(heads)} |", f"|:--|{'--:|' * len(heads)}"]
        for name in dict.fromkeys(row["variant"] for row in found["trials"]):
            if (name in _ADVICE) is advised:
                cells = [
                    _largest(row[what] for row in _of(found["trials"], name, rate))
                    for what in told
                    for rate in _WORST_RATES
                ]
                lines.append(f"| {name} | {' | '.join(cells)} |")
        return "\n".join(lines)

    return made


def _of(rows: Rows, name: str, rate: float) -> Rows:
    return [row for row in rows if row["variant"] == name and row["rate"] == rate]


def _end(row: dict[str, Any]) -> float:
    start: float = row["start"]
    return start if row["diverged"] or row["end"] is None else min(row["end"], start)


def _middle(ends: list[float], rows: Rows) -> str:
    lost = sum(row["diverged"] for row in rows)
    if lost == len(rows):
        return "diverged"
    return f"{median(ends):.2f}, {lost} diverged" if lost else f"{median(ends):.2f}"


def _largest(values: Iterable[float | None]) -> str:
    found = list(values)
    finite = [value for value in found if value is not None]
    if len(finite) < len(found):
        return "∞"
    largest = max(finite)
    return (
        f"{largest:.3g}"
        if largest < 1e3
        else f"{largest:.0e}".replace("e+0", "e").replace("e+", "e")
    )


MADE: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "model": by_rate(
        _MODEL, "model-by-rate", "Without any norm, or without LayerNorm, high rates are lost"
    ),
    "training": by_rate(
        _TRAINING,
        "training-by-rate",
        "Warm-up is worth something at high rates; the others are not told apart",
    ),
    "loss": by_step("loss", _MODEL, 3e-2, "Without norms the loss does not come back"),
    "logit": by_step(
        "largest_logit",
        ("the recipe", "trained gains", "no QK-norm", "norms after"),
        3e-1,
        "QK-norm holds the scores",
    ),
    "gradient": by_step("gradient_norm", _ADVICE, 3e-2, "The advice against exploding gradients"),
    "losses": losses,
    "worst": worst(advised=False),
    "advised": worst(advised=True),
}
