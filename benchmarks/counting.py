"""Who counts right? The FLOPs of 32 ways to write attention, by attncost and by its peers.

    python -m benchmarks.counting [--quick] [--json FILE] [--only CASES] [--pairs N]

Every count is made in a process of its own. Promised: attncost gives the exact integer in every
case, with its mask and without, and crashes in none; counting a model leaves its later training
steps as fast as they were; `attncost count llama-3-70b` takes at most 10 s of CPU time and 1 GiB.
`benchmarks/README.md` says what the tables mean.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from statistics import median
from textwrap import fill
from typing import Any, Final

from benchmarks.apart import Outcome, apart
from benchmarks.counters import PEERS
from benchmarks.counting_cases import CASES, Case
from benchmarks.counting_tables import (
    CRASH,
    DENSE,
    EXACT,
    USEFUL,
    Found,
    costs,
    crashes,
    scores,
    side_by_side,
    verdict,
)
from benchmarks.kernels import bar
from benchmarks.later import COUNTED, NEVER, OURS, Pairs, counting, later
from benchmarks.promise import Promise, settle
from benchmarks.spent import Spent, spent

from attncost.core.errors import UnknownName
from attncost.cost.counting.count import count
from attncost.measure.clocks.clock import clock_for
from attncost.measure.clocks.threads import threads
from attncost.measure.store.environment import environment
from attncost.measure.sweep.interleaved import Samples, ratio

PATIENCE: Final = 60.0
PAIRS: Final = 15
QUICK_PAIRS: Final = 9
ROUNDS: Final = 15
MOST: Final = 1.05
# What --quick asks: those that PyTorch brings.
QUICK: Final = ("torch", "profiler")
# What counting itself is timed on.
TIMED: Final = ("EncLayer train", "Bert sdpa")
# What has too many weights to be made.
LARGE: Final = "llama-3-70b"
RUNS: Final = 3
QUICK_RUNS: Final = 1
SECONDS: Final = 10.0
GIB: Final = 1.0
_COMMAND: Final = "from attncost.cli import main; raise SystemExit(main())"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it."""
    asked = parsed(arguments)
    without = missing(asked.only)
    for remedy, names in without.items():
        print(fill(f"not asked: {', '.join(names)}: {remedy}.", 80))
    absent = {*chain.from_iterable(without.values())}
    peers = [name for name in (QUICK if asked.quick else PEERS) if name not in absent]
    there = [name for name in asked.only if name not in absent]
    cases = [name for name in there if name != LARGE and _wanted(name, asked)]
    with threads(1):
        found = asked_all(cases, peers)
        side_by_side(found)
        scores(found)
        crashes(found)
        taken = {name: _counting(name, ROUNDS) for name in TIMED if name in cases}
        costs(taken)
        steps = {str(pairs): later(pairs) for pairs in _pairs(asked)}
    promises = [*exact(found), *as_fast(steps)]
    if LARGE in there:
        promises += without_weights([_large() for _ in range(QUICK_RUNS if asked.quick else RUNS)])
    if asked.json:
        keep(found, {"counting": taken, "steps": steps}, promises, asked.json)
    print()
    return settle(promises)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what is asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="PyTorch's peers, nothing compiled, <= 60 s"
    )
    parser.add_argument("--json", type=Path, help="where all counts and samples go")
    known = [*CASES, LARGE]
    parser.add_argument(
        "--only", help=f"some of the cases, or {LARGE}, between commas", default=",".join(known)
    )
    parser.add_argument("--pairs", type=int, help=f"{PAIRS} of processes, quick {QUICK_PAIRS}")
    asked = parser.parse_args(arguments)
    asked.only = asked.only.split(",")
    for name in asked.only:
        if name not in known:
            parser.error(f"--only: {UnknownName('only', name, known)}")
    if asked.pairs is None:
        asked.pairs = QUICK_PAIRS if asked.quick else PAIRS
    if asked.pairs < 1:
        parser.error(f"--pairs must be at least 1, got {asked.pairs}.")
    return asked


def _wanted(name: str, asked: argparse.Namespace) -> bool:
    """Leave out what everybody who is asked would have to compile first."""
    return not (asked.quick and CASES[name].compiled)


def _pairs(asked: argparse.Namespace) -> list[Pairs]:
    eager = Pairs(pairs=asked.pairs, rounds=1)
    # To compile takes long, so these live longer.
    return [eager] if asked.quick else [eager, Pairs(pairs=3, rounds=5, compiled=True)]


def missing(cases: Sequence[str]) -> dict[str, list[str]]:
    """Return the peers and the cases that are not to be had here, by what brings them."""
    found: dict[str, list[str]] = {}
    for name, peer in PEERS.items():
        if not peer.there():
            found.setdefault("`make bench` installs them", []).append(name)
    for name in cases:
        needs = "transformers" if name == LARGE else CASES[name].needs
        if needs and find_spec(needs) is None:
            found.setdefault("pip install 'attncost[hf]'", []).append(name)
    return found


def asked_all(cases: Sequence[str], peers: Sequence[str]) -> Found:
    """Ask everybody about every case, each time in a process of its own."""
    found: dict[str, dict[str, Outcome]] = {}
    with bar(len(cases) * (1 + len(peers))) as progress:
        for name in cases:
            # What a case imports need not be imported by every process again.
            CASES[name].make()
            progress(f"{name}: {OURS}")
            found[name] = _ours(CASES[name])
            for peer in peers:
                progress(f"{name}: {peer}")
                found[name][peer] = apart(partial(_theirs, CASES[name], peer), seconds=PATIENCE)
    return found


def keep(
    found: Found, taken: dict[str, dict[str, Samples]], promises: list[Promise], path: Path
) -> None:
    """Write it with the machine it comes from."""
    command = " ".join(["python -m benchmarks.counting", *sys.argv[1:]])
    rows = {
        name: {
            "useful": CASES[name].useful,
            "dense": CASES[name].dense,
            "found": {
                who: {
                    "flops": outcome.value,
                    "crash": outcome.crash,
                    "is": verdict(name, who, outcome),
                }
                for who, outcome in row.items()
            },
        }
        for name, row in found.items()
    }
    whole: dict[str, Any] = {
        "environment": environment(clock_for("cpu"), command=command),
        "peers": {name: peer.version() for name, peer in PEERS.items() if peer.there()},
        "cases": rows,
        "seconds": taken,
        "promises": [asdict(one) for one in promises],
    }
    path.write_text(json.dumps(whole, indent=1) + "\n")


def _ours(case: Case) -> dict[str, Outcome]:
    """Return what attncost counts; a count that is said to be a bound is none, unless it is one."""

    def ask() -> tuple[float | None, ...]:
        module, inputs = case.ready()
        with case.grad():
            counted = count(module, *inputs, training=case.backward)
        if counted.at_least or bool(counted.at_most) is not case.bounded:
            return None, None
        return counted.useful, counted.dense

    outcome = apart(ask, seconds=PATIENCE)
    values = outcome.value or (None, None)
    return {
        who: Outcome(value, outcome.crash)
        for who, value in zip((USEFUL, DENSE), values, strict=True)
    }


def _theirs(case: Case, peer: str) -> float | None:
    module, inputs = case.ready()
    with case.grad():
        return PEERS[peer].ask(module, inputs, backward=case.backward)


def _counting(name: str, rounds: int) -> Samples:
    outcome = apart(lambda: counting(*CASES[name].make(), rounds), seconds=PATIENCE)
    if outcome.crash is not None:
        raise RuntimeError(f"counting {name} could not be timed: {outcome.crash}")
    samples: Samples = outcome.value
    return samples


def _large() -> Spent:
    return spent(sys.executable, "-c", _COMMAND, "count", LARGE, "--json")


def exact(found: Found) -> list[Promise]:
    """Return what is promised of the counts."""
    verdicts = {
        who: [verdict(name, who, row[who]) for name, row in found.items()]
        for who in (USEFUL, DENSE)
    }
    against = {
        f"of {len(found)} cases, {who} FLOPs that are not exact": len(words) - words.count(EXACT)
        for who, words in verdicts.items()
    }
    against[f"of {len(found)} cases, crashes"] = verdicts[USEFUL].count(CRASH)
    return [
        Promise(name=name, figure=times, low=times, high=times, limit=0)
        for name, times in against.items()
    ]


def as_fast(steps: dict[str, Samples]) -> list[Promise]:
    """Return what is promised of later steps."""
    promises = []
    for kind, samples in steps.items():
        one = ratio(samples, COUNTED, NEVER)
        name = f"a training step, {kind}: {COUNTED} / {NEVER}"
        promises.append(
            Promise(name=name, figure=one.figure, low=one.low, high=one.high, limit=MOST)
        )
    return promises


def without_weights(runs: Sequence[Spent]) -> list[Promise]:
    """Return what is promised of counting a model of 70 billion numbers, from start to end."""
    kinds = {
        "CPU s": (SECONDS, [run.seconds for run in runs]),
        "GiB": (GIB, [run.bytes / 2**30 for run in runs]),
    }
    return [
        Promise(
            name=f"attncost count {LARGE}, {kind}",
            figure=median(figures),
            low=min(figures),
            high=max(figures),
            limit=limit,
        )
        for kind, (limit, figures) in kinds.items()
    ]


if __name__ == "__main__":
    raise SystemExit(main())
