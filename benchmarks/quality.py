"""What does cheaper attention cost in quality? Training, stability, and how fast it is.

    python -m benchmarks.quality [--quick] [--json FILE] [--only PARTS]

Approximations beside PyTorch's fused attention and peers; attentions that learn to recall and to
read digits; training with and without the recipe. `benchmarks/README.md` says what the tables mean.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.kernels import bar
from benchmarks.mechanism_speed import OURS
from benchmarks.promise import Promise, settle

from attncost.core.errors import UnknownName
from attncost.measure.clocks.clock import clock_for
from attncost.measure.store.environment import environment
from attncost.measure.sweep.interleaved import Samples, ratio
from benchmarks import mechanism_speed, stability, task_quality

PARTS: Final = ("speed", "stability", "tasks")
_ROUNDS: Final = 15
_QUICK_ROUNDS: Final = 6
_QUICK_LENGTHS: Final = (512, 1024, 2048, 4096, 8192)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it."""
    asked = parsed(arguments)
    kept: dict[str, Any] = {}
    owed: list[Promise] = []
    for part, run in (("speed", speed), ("stability", stable), ("tasks", tasks)):
        if part in asked.only:
            found, promised = run(quick=asked.quick)
            kept[part] = found
            owed += promised
    if asked.json:
        where = environment(clock_for("cpu"), command="python -m benchmarks.quality")
        rows = {"environment": where, **kept, "promises": [asdict(one) for one in owed]}
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")
    print()
    return settle(owed)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line.

    Raises:
        UnknownName: If there is no such part.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer rounds, one run of each, no digits, <= 60 s"
    )
    parser.add_argument("--json", type=Path, help="where all samples go")
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    asked = parser.parse_args(arguments)
    asked.only = asked.only.split(",")
    for part in asked.only:
        if part not in PARTS:
            raise UnknownName("part", part, PARTS)
    return asked


def speed(*, quick: bool) -> tuple[dict[str, Samples], list[Promise]]:
    """Time the approximations."""
    for name in mechanism_speed.absent():
        print(f"not compared: {name} is not installed; `make bench` does that.")
    with bar(1) as progress:
        progress("speed")
        found = (
            mechanism_speed.timed(_QUICK_ROUNDS, _QUICK_LENGTHS)
            if quick
            else mechanism_speed.timed(_ROUNDS)
        )
    show_times(found)
    return found, mechanism_speed.promises(found)


def show_times(found: dict[str, Samples]) -> None:
    """Print what they take, and as a multiple of ours."""
    for title, samples in found.items():
        ours = OURS if title.isdecimal() else "Linformer"
        print(f"\n{f'n = {title}' if title.isdecimal() else title:<30}{'ms':>9}  of {ours}")
        for name, taken in samples.items():
            of = ratio(samples, name, ours)
            ends = f"{of.figure:.3g} [{of.low:.3g}, {of.high:.3g}]"
            print(f"{name:<30}{1e3 * median(taken.values()):>9.2f}  {ends}")
    law, first = mechanism_speed.law(found), mechanism_speed.wins_from(found)
    end = law.long_end.measured
    print(f"\n{OURS}: class of growth {law.growth.name}, not told from {law.growth.undecided}")
    print(f"power of n at the long end: {end.value:.3f} [{end.low:.3f}, {end.high:.3f}]")
    print(f"faster than SDPA from n = {first:,}" if first else "nowhere surely faster than SDPA")


def stable(*, quick: bool) -> tuple[Any, list[Promise]]:
    """Train with the recipe and without: what is promised, and no sweep of rates."""
    start = time.process_time()
    found, owed = stability.run(quick=True, seeds=1 if quick else stability.SEEDS)
    spent = time.process_time() - start
    taken = Promise(name="s for all of stability", figure=spent, low=spent, high=spent, limit=180)
    return found, [*owed, taken]


def tasks(*, quick: bool) -> tuple[dict[str, Any], list[Promise]]:
    """Train on tasks; in a hurry only a small one, of which nothing is promised."""
    contests = (task_quality.QUICK,) if quick else task_quality.CONTESTS
    seeds = 1 if quick else task_quality.SEEDS
    with bar(sum(len(one.attentions) for one in contests) * seeds) as progress:
        found = {
            one.task: task_quality.learned(one, seeds=seeds, tell=progress) for one in contests
        }
    task_quality.show(found)
    kept = {
        title: {name: [asdict(run) for run in runs] for name, runs in each.items()}
        for title, each in found.items()
    }
    return kept, [] if quick else task_quality.promises(found)


if __name__ == "__main__":
    raise SystemExit(main())
