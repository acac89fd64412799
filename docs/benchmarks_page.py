"""The tables of the page about benchmarks, made from all results that are committed.

An MkDocs hook: `benchmarks.md` gives way to what `MADE` makes of `benchmarks/results/*.json`. A row
is lost if the whole interval of a ratio of ours to another's lies above 1; whether it was promised
to be so is another question, which the promises answer.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from mkdocs.structure.pages import Page
from page_parts import filled

from attncost.measure.sweep.interleaved import ratio

RESULTS: Final = Path(__file__).parents[1] / "benchmarks/results"
_COLUMNS: Final = ("causal", "padded", "+mask", "flex", "local")
_EVEN: Final = 1.0
# What a ratio may be said to be of in the name of a promise, ours first.
_OVER: Final = " / "

Found = dict[str, Any]


class Row(NamedTuple):
    """Our time as a multiple of another's."""

    benchmark: str
    row: str
    figure: float
    low: float
    high: float


def on_page_markdown(markdown: str, page: Page, **_: object) -> str | None:
    """Put tables where the page asks for them."""
    return filled(markdown, page, name="benchmarks.md", made=MADE)


@cache
def results() -> dict[str, Found]:
    """Return what each benchmark found, by its name."""
    return {
        file.stem.partition("-")[0]: json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(RESULTS.glob("*.json"))
    }


def machines() -> str:
    """Return where and when each benchmark ran."""
    lines = ["| benchmark | device | threads | torch | day |", "|:--|:--|--:|:--|:--|"]
    for name, found in results().items():
        where = found["environment"]
        day = str(where["started"]).partition("T")[0]
        lines.append(
            f"| `benchmarks.{name}` | {where['device']}, {where['processor']} | "
            f"{where['threads']} | {where['torch']} | {day} |"
        )
    return "\n".join(lines)


def promises() -> str:
    """Return every promise, and whether it is kept."""
    lines = [
        "| benchmark | promise | at most | measured | interval | |",
        "|:--|:--|--:|--:|--:|:--|",
    ]
    for name, found in results().items():
        for one in found.get("promises", ()):
            kept = "kept" if one["low"] <= one["limit"] else "**missed**"
            lines.append(
                f"| `{name}` | {one['name']} | {one['limit']:.3g} | {one['figure']:.3g} | "
                f"{one['low']:.3g} to {one['high']:.3g} | {kept} |"
            )
    return "\n".join(lines)


def kernels() -> str:
    """Return our times under patterns over those of all others."""
    heads = " | ".join(f"of {column}" for column in _COLUMNS)
    lines = [
        f"| pass | tokens | pattern | ms | {heads} |",
        f"|:--|--:|:--|--:|{'--:|' * len(_COLUMNS)}",
    ]
    for cell in results()["kernels"]["times"]:
        way = "forward + backward" if cell["backward"] else "forward"
        for subject, found in cell["subjects"].items():
            ratios = [found["ratios"].get(column) for column in _COLUMNS]
            shown = " | ".join(f"{one['figure']:.2f}" if one else "" for one in ratios)
            milliseconds = 1e3 * found["seconds"]
            lines.append(
                f"| {way} | {cell['length']:,} | {subject} | {milliseconds:.3g} | {shown} |"
            )
    return "\n".join(lines)


def lost() -> str:
    """Return every row in which another is faster, the worst first."""
    rows = [one for one in ratios() if one.low > _EVEN]
    lines = ["| benchmark | row | times as long | interval |", "|:--|:--|--:|--:|"]
    lines += [
        f"| `{one.benchmark}` | {one.row} | {one.figure:.2f} | "
        f"{one.low:.2f}&nbsp;to&nbsp;{one.high:.2f} |"
        for one in sorted(rows, key=lambda one: -one.figure)
    ]
    return "\n".join(lines)


def ratios() -> Iterator[Row]:
    """Give every ratio of our time to another's, with its interval."""
    yield from _of_kernels(results()["kernels"])
    yield from _of_counting(results()["counting"])
    for name, found in results().items():
        # Those of kernels are there already; one of a number is no ratio of times.
        for one in found.get("promises", ()) if name != "kernels" else ():
            if _OVER in one["name"] and not one["name"][0].isdigit():
                yield Row(name, one["name"], one["figure"], one["low"], one["high"])


def _of_kernels(found: Found) -> Iterator[Row]:
    for cell in found["times"]:
        way = "forward + backward" if cell["backward"] else "forward"
        for subject, times in cell["subjects"].items():
            for other, one in times["ratios"].items():
                row = f"{subject} / {other}, {way}, {cell['length']:,} tokens"
                yield Row("kernels", row, one["figure"], one["low"], one["high"])


def _of_counting(found: Found) -> Iterator[Row]:
    for model, read in found["seconds"]["counting"].items():
        times = {name: {int(i): x for i, x in rounds.items()} for name, rounds in read.items()}
        one = ratio(times, "attncost", "torch")
        row = f"counting / torch's counter, {model}"
        yield Row("counting", row, one.figure, one.low, one.high)


MADE: Final = {"machines": machines, "promises": promises, "kernels": kernels, "lost": lost}
