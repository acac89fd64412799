"""The tables of the page about choosing an attention, made from the results of its benchmark.

An MkDocs hook: a comment `<!-- made: NAME -->` in `choosing.md` gives way to what `MADE` makes of
`benchmarks/results/quality-cpu.json`.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

from mkdocs.structure.pages import Page
from page_parts import filled

RESULTS: Final = Path(__file__).parents[1] / "benchmarks/results/quality-cpu.json"
_OURS: Final = "linear, causal"
_PEERS: Final = ("SDPA, causal", "performer", "linear-attention-transformer")

Found = dict[str, Any]


def on_page_markdown(markdown: str, page: Page, **_: object) -> str | None:
    """Put tables where the page asks for them."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    made = {place: partial(one, found) for place, one in MADE.items()}
    return filled(markdown, page, name="choosing.md", made=made)


def learned(*titles: str) -> Callable[[Found], str]:
    """Return what makes the table of some tasks."""

    def made(found: Found) -> str:
        lines = ["| task | attention | seeds | mean | CPU seconds a run |", "|:--|:--|--:|--:|--:|"]
        for title in titles:
            for name, runs in found["tasks"][title].items():
                scores = [run["score"] for run in runs]
                each = " / ".join(f"{score:.3f}" for score in scores)
                seconds = fmean(run["seconds"] for run in runs)
                lines.append(
                    f"| `{title}` | `{name}` | {each} | {fmean(scores):.3f} | {seconds:.0f} |"
                )
        return "\n".join(lines)

    return made


def speed(found: Found) -> str:
    """Return the table of times of causal linear attention over those of others."""
    heads = " | ".join(f"of {name}" for name in _PEERS)
    lines = [f"| tokens | ms | {heads} |", f"|--:|--:|{'--:|' * len(_PEERS)}"]
    for title, samples in found["speed"].items():
        if title.isdecimal():
            ours = samples[_OURS]
            cells = [_over(ours, samples.get(name)) for name in _PEERS]
            milliseconds = 1e3 * median(ours.values())
            lines.append(f"| {int(title):,} | {milliseconds:.1f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _over(ours: dict[str, float], other: dict[str, float] | None) -> str:
    """Return the median ratio within a round."""
    if other is None:
        return ""
    return f"{median(ours[i] / other[i] for i in ours.keys() & other.keys()):.2g}"


MADE: Final[dict[str, Callable[[Found], str]]] = {
    "recall": learned("recall", "recall:length=128,pairs=32,keys=64"),
    "digits": learned("digits"),
    "speed": speed,
}
