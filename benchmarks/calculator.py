"""How small is the calculator's page, how soon does it answer, and does it say what Python says?

    python -m benchmarks.calculator [--quick] [--json FILE]

The page as `attncost calculator` writes it, in a headless Chromium that reaches nothing: its size,
the time until it is painted, the time from a move of a slider to the frame that shows it, and 1,000
random configurations that are computed in the page and in Python. `benchmarks/README.md` says what
the tables mean.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, final

from benchmarks.calculated import agreement
from benchmarks.in_browser import Opened, Page, browser, opened
from benchmarks.in_browser import missing as no_browser
from benchmarks.kernels import bar
from benchmarks.promise import Promise, median_of_runs, settle

from attncost.measure.clocks.clock import clock_for
from attncost.measure.store.environment import environment
from attncost.report.calculator.exported import exported
from attncost.report.calculator.render import page

# Bytes, seconds to load, seconds from a move to its frame: what was promised.
SIZE_LIMIT: Final = 100_000
LOAD_LIMIT: Final = 1.5
PAINT_LIMIT: Final = 0.050
MOVES: Final = 60
# Every attention, both ways to train and to serve: the most that a paint has to draw.
HEAVIEST: Final = {"work": "training", "attention": "causal", "compared": "window"}
SLIDERS: Final = ("length", "d_model", "heads", "width")
_BEGUN: Final = """async () => {
  while (!globalThis.attncost?.begun) await new Promise(requestAnimationFrame)
}"""
# Seconds from an input event to the second frame after it: the first one paints, so by the second
# what it shows is on the screen.
_WALK: Final = """async ([name, moves]) => {
  const slider = document.getElementById(`${name}-slider`)
  const painted = () => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))
  const taken = []
  for (let move = 0; move < moves; move++) {
    await painted()
    const begun = performance.now()
    slider.value = Math.round(slider.max * (0.2 + 0.6 * ((move * 7) % 20) / 20))
    slider.dispatchEvent(new Event("input", { bubbles: true }))
    await painted()
    taken.push((performance.now() - begun) / 1000)
  }
  return taken
}"""


@final
@dataclass(frozen=True, slots=True)
class Often:
    """How often everything is measured.

    Attributes:
        pages: Times that the page is opened.
        configurations: Random ones that are compared.
    """

    pages: int
    configurations: int


USUAL: Final = Often(pages=5, configurations=1000)
QUICK: Final = Often(pages=2, configurations=200)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer pages, <= 60 s")
    parser.add_argument("--json", type=Path, help="where all samples go")
    asked = parser.parse_args(arguments)
    often = QUICK if asked.quick else USUAL
    reason = no_browser()
    if reason:
        print(f"not measured: {reason}")
        return 0
    with bar(often.pages) as progress, TemporaryDirectory() as folder, browser() as seen:
        file = Path(folder, "calculator.html")
        file.write_text(page(exported()), encoding="utf-8")
        found = []
        for turn in range(often.pages):
            progress(f"page {turn + 1}")
            several = often.configurations if turn == 0 else 0
            found.append(opened(seen, file, ready=_BEGUN, ask=_asked(several)))
    owed = promises(found)
    show(found)
    if asked.json:
        command = "python -m benchmarks.calculator"
        kept = {
            "environment": environment(clock_for("cpu"), command=command),
            "pages": [asdict(one) for one in found],
            "promises": [asdict(one) for one in owed],
        }
        asked.json.write_text(json.dumps(kept, indent=1) + "\n")
    print()
    return settle(owed)


def _asked(several: int) -> Callable[[Page], dict[str, Any]]:
    """Return what asks a page for its moves, and compares so many configurations."""

    def ask(page: Page) -> dict[str, Any]:
        differing = {"differing": agreement(page, several)} if several else {}
        return {"moves": walked(page), **differing}

    return ask


def walked(page: Page) -> dict[str, list[float]]:
    """Move sliders of the heaviest page, in seconds a move."""
    page.evaluate("(settings) => attncost.set(settings)", HEAVIEST)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    return {name: page.evaluate(_WALK, [name, MOVES]) for name in SLIDERS}


def promises(found: list[Opened]) -> list[Promise]:
    """Return what is promised of a page that was opened several times."""
    walks = [[p95(taken) for taken in one.found["moves"].values()] for one in found if one.found]
    differing = [one.found["differing"] for one in found if "differing" in one.found]
    return [
        median_of_runs("kB", [one.bytes / 1000 for one in found], limit=SIZE_LIMIT / 1000),
        median_of_runs("s to load", [one.seconds or 1e3 for one in found], limit=LOAD_LIMIT),
        median_of_runs(
            "s from a move to its frame, 95 %", [max(walk) for walk in walks], limit=PAINT_LIMIT
        ),
        median_of_runs("configurations that differ from Python", differing, limit=0),
        median_of_runs(
            "requests and errors", [one.requests + one.errors for one in found], limit=0
        ),
    ]


def show(found: list[Opened]) -> None:
    """Print what the page takes."""
    print(f"\n{'kB':>8}{'s':>8}{'heap MB':>9}{'requests':>9}{'errors':>8}")
    for one in found:
        seconds = "never" if one.seconds is None else f"{one.seconds:.2f}"
        print(
            f"{one.bytes / 1000:>8.1f}{seconds:>8}{one.heap / 1e6:>9.0f}"
            f"{one.requests:>9}{one.errors:>8}"
        )
    print(f"\n{'slider':<12}{'median ms':>10}{'95 % ms':>10}")
    for name in SLIDERS:
        taken = [second for one in found if one.found for second in one.found["moves"][name]]
        if taken:
            middle = sorted(taken)[len(taken) // 2]
            print(f"{name:<12}{1000 * middle:>10.1f}{1000 * p95(taken):>10.1f}")


def p95(seconds: list[float]) -> float:
    """Return what 95 of 100 moves do not exceed."""
    return sorted(seconds)[int(0.95 * (len(seconds) - 1))]


if __name__ == "__main__":
    raise SystemExit(main())
