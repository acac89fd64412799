"""What does it take to see attention? Statistics beside n x n weights, pages beside those of peers.

    python -m benchmarks.maps [--quick] [--json FILE]

Statistics of one head of 8,192 tokens, in turns with PyTorch's fused attention; then pages in a
headless Chromium that reaches nothing: one head of 8,192 tokens, and all heads of MiniLM at 512
beside bertviz and circuitsvis. `benchmarks/README.md` says what the tables mean.
"""

import argparse
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final, final

from benchmarks.in_browser import Opened, browser, opened
from benchmarks.in_browser import missing as no_browser
from benchmarks.kernels import bar
from benchmarks.map_pages import READY, absent, our_head, our_minilm, peers, promises, walked
from benchmarks.map_statistics import RATIOS, memory, timed
from benchmarks.map_statistics import promises as promises_of_time
from benchmarks.promise import Promise, settle

from attncost.measure.clocks.clock import clock_for
from attncost.measure.store.environment import environment
from attncost.measure.sweep.interleaved import Samples, ratio


@final
@dataclass(frozen=True, slots=True)
class Often:
    """How often everything is measured.

    Attributes:
        rounds: Calls, in turns.
        written: Weights written out, n x n.
        memory: Processes that are asked what they take.
        pages: Times that a page is opened.
    """

    rounds: int
    written: int
    memory: int
    pages: int


USUAL: Final = Often(rounds=15, written=6, memory=3, pages=5)
QUICK: Final = Often(rounds=6, written=2, memory=1, pages=2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no peers, <= 60 s")
    parser.add_argument("--json", type=Path, help="where all samples go")
    asked = parser.parse_args(arguments)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    clock, often = clock_for("cpu"), QUICK if asked.quick else USUAL
    with bar(3) as progress:
        progress("statistics")
        samples = timed(often.rounds, written=often.written)
        progress("memory")
        owed = [*promises_of_time(samples), *memory(often.memory)]
        progress("pages")
        pages = shown(times=often.pages, peers_too=not asked.quick)
    show_times(samples)
    owed += show_pages(pages)
    if asked.json:
        kept = {
            "environment": environment(clock, command="python -m benchmarks.maps"),
            "statistics": samples,
            "pages": {name: [asdict(one) for one in found] for name, found in pages.items()},
            "promises": [asdict(one) for one in owed],
        }
        asked.json.write_text(json.dumps(kept, indent=1) + "\n")
    print()
    return settle(owed)


def shown(*, times: int, peers_too: bool) -> dict[str, list[Opened]]:
    """Open pages, each in a context of its own."""
    reason = no_browser()
    if reason:
        print(f"not measured: pages: {reason}")
        return {}
    found: dict[str, list[Opened]] = {}
    with TemporaryDirectory() as folder, browser() as seen:
        page = Path(folder, "page.html")

        def open_(name: str, made: Callable[[], str], times: int, **how: Any) -> None:  # noqa: ANN401
            page.write_text(made(), encoding="utf-8", errors="replace")
            found[name] = [opened(seen, page, **how) for _ in range(times)]

        open_("one head", our_head, times, ready=READY, ask=walked)
        open_("MiniLM", our_minilm, times, ready=READY)
        if peers_too:
            for name in absent():
                print(f"not compared: {name} is not installed; `make bench` does that.")
            for name, made in peers().items():
                open_(name, made, 1)
    return found


def show_times(samples: Samples) -> None:
    """Print how long statistics take."""
    print(f"\n{'':<24}{'s':>8}")
    for name, taken in samples.items():
        print(f"{name:<24}{median(taken.values()):>8.3f}")
    for one, other, _ in RATIOS:
        found = ratio(samples, one, other)
        print(f"{one} / {other}: {found.figure:.3g} [{found.low:.3g}, {found.high:.3g}]")


def show_pages(pages: dict[str, list[Opened]]) -> list[Promise]:
    """Print what pages take, and return what was promised of ours."""
    if not pages:
        return []
    print(
        f"\n{'page':<26}{'MB':>8}{'s':>8}{'heap MB':>9}{'pictures':>9}{'requests':>9}{'errors':>8}"
    )
    for name, found in pages.items():
        one = sorted(found, key=lambda one: one.seconds or 1e3)[len(found) // 2]
        seconds = "never" if one.seconds is None else f"{one.seconds:.2f}"
        print(
            f"{name:<26}{one.bytes / 1e6:>8.1f}{seconds:>8}{one.heap / 1e6:>9.0f}"
            f"{one.shown:>9}{one.requests:>9}{one.errors:>8}"
        )
    return [*promises("one head", pages["one head"]), *promises("MiniLM", pages["MiniLM"])]


if __name__ == "__main__":
    raise SystemExit(main())
