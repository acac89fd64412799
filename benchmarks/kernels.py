"""Is exact attention under a pattern as fast as it should be? Side by side with its peers.

    python -m benchmarks.kernels [--quick] [--json FILE] [--only SUBJECTS] [--lengths N,N]

One sequence, 8 heads of 64, on a CPU: first that all compute the same numbers, then time and extra
memory. `benchmarks/README.md` says what the tables mean; `benchmarks/owed.py` what is promised.
"""

import argparse
import json
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from benchmarks.agreement import agreement
from benchmarks.cells import DTYPES, Cell, Contest, Found
from benchmarks.peak import available, peak
from benchmarks.peers import OURS, columns, missing
from benchmarks.promise import settle
from benchmarks.subjects import subjects
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from attncost.core.errors import UnknownName
from attncost.measure.clocks.clock import clock_for
from attncost.measure.clocks.threads import threads
from attncost.measure.store.environment import environment
from attncost.measure.sweep.interleaved import Samples
from benchmarks import owed, tables

LENGTHS: Final = ("64", "128", "256", "512", "1024", "2048", "4096", "8192", "16384")
QUICK_LENGTHS: Final = ("256", "2048")
QUICK_SUBJECTS: Final = ("causal", "window", "documents")
_FEWEST: Final = 3
_MEMORY_TIMES: Final = 3

Progress = Callable[[str], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it."""
    asked, without = parsed(arguments), missing()
    if asked.quick:
        without["flex"] = "compiling it takes longer than --quick has."
    cells = [
        Cell(dtype, backward, length)
        for dtype in asked.dtypes
        for backward in (False, True)
        for length in asked.lengths
    ]
    results, samples = dict[Cell, dict[str, Found]](), dict[Cell, Samples]()
    with threads(1), bar(len(cells) + 2) as progress:
        progress("the same numbers?")
        errors, unable = agreement(asked.only, without)
        without |= unable
        for cell in cells:
            progress(f"{cell.dtype}, {cell.direction}, {cell.length:,}")
            contest = Contest(cell, asked.only, without=without, always=owed.always(cell))
            results[cell], samples[cell] = contest.run(clock_for("cpu"), asked.rounds)
            del contest  # Its masks and those of the next cell together may be too much.
        progress("memory of the window")
        taken = {} if asked.quick else memory(asked, without)
    for column, reason in without.items():
        print(f"not compared: {column}: {reason}")
    tables.numbers(errors)
    tables.times(results)
    tables.memory(taken)
    promises, absent = owed.verdicts(results, taken)
    if asked.json:
        rows = {"numbers": errors, "times": timed(results, samples), "memory": kept(taken)}
        keep({**rows, "promises": [asdict(one) for one in promises]}, asked.json)
    print()
    for name in absent:
        print(f"not measured: {name}")
    return settle(promises)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what is asked; --quick takes fewer subjects, lengths and types if none is named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a part of it, <= 60 s")
    parser.add_argument("--json", type=Path, help="where all samples go")
    parser.add_argument("--rounds", type=int, default=owed.FEWEST_ROUNDS, help="%(default)s")
    choices = {
        "only": (subjects(), QUICK_SUBJECTS),
        "lengths": (LENGTHS, QUICK_LENGTHS),
        "dtypes": (tuple(DTYPES), ("float32",)),
    }
    for name, (known, _) in choices.items():
        parser.add_argument(f"--{name}", help=f"some of {','.join(known)}")
    asked = parser.parse_args(arguments)
    for name, (known, quick) in choices.items():
        text = getattr(asked, name)
        words = tuple(text.split(",")) if text else quick if asked.quick else known
        for word in words:
            if word not in known:
                parser.error(f"--{name}: {UnknownName(name, word, known)}")
        setattr(asked, name, words)
    if asked.rounds < _FEWEST:
        parser.error(f"--rounds must be at least {_FEWEST}, got {asked.rounds}.")
    asked.lengths = sorted(map(int, asked.lengths))
    return asked


def memory(asked: argparse.Namespace, without: Collection[str]) -> owed.Peaks:
    """Return MiB taken and kept by all who compute the window, each in a process of its own."""
    length = owed.MEMORY_LENGTH
    if "window" not in asked.only or length not in asked.lengths or not available():
        return {}
    return {
        (backward, column): [
            peak("window", column, length, dtype="float32", backward=backward)
            for _ in range(_MEMORY_TIMES)
        ]
        for backward in (False, True)
        for column in (OURS, *columns("window", without))
        if not (column == "flex" and backward)
    }


def timed(results: owed.Results, samples: dict[Cell, Samples]) -> list[dict[str, Any]]:
    """Return a row for each cell, with every sample."""
    return [
        {
            **asdict(cell),
            "subjects": {subject: asdict(one) for subject, one in found.items()},
            "seconds": samples[cell],
        }
        for cell, found in results.items()
    ]


def kept(taken: owed.Peaks) -> list[dict[str, Any]]:
    """Return a row for each process."""
    return [
        {"subject": "window", "contestant": column, "backward": backward, "mib": mib, "kept": held}
        for (backward, column), found in taken.items()
        for mib, held in found
    ]


def keep(found: dict[str, Any], path: Path) -> None:
    """Write it with the machine it comes from."""
    command = " ".join(["python -m benchmarks.kernels", *sys.argv[1:]])
    where = environment(clock_for("cpu"), command=command)
    path.write_text(json.dumps({"environment": where, **found}, indent=1) + "\n")


@contextmanager
def bar(steps: int) -> Iterator[Progress]:
    """Show progress on a terminal, and nothing anywhere else."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(12), MofNCompleteColumn())
    # A thread that redraws would be charged to the CPU time of this process.
    with Bar(*columns, console=Console(stderr=True), auto_refresh=False, transient=True) as shown:
        task = shown.add_task("", total=steps, completed=-1)

        def step(doing: str) -> None:
            shown.update(task, advance=1, description=doing)
            shown.refresh()

        yield step


if __name__ == "__main__":
    raise SystemExit(main())
