"""Does the time of one attention layer follow its FLOPs? Several sweeps, and laws of each.

    python -m benchmarks.laws [--quick] [--json FILE]

The layer of the first article (d_model 512, 8 heads, one matrix for q, k and v), fused and naive,
at 13 lengths of 64 to 4096 tokens, and the fused one once more with two busy processes beside it.
Then what PyPI's big-o says of the same times, and of exact times of each class.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.laws_classes import compared
from benchmarks.promise import Promise, median_of_runs, settle

from attncost.measure.clocks.clock import clock_for
from attncost.measure.laws.law import Law
from attncost.measure.laws.sentences import shares
from attncost.measure.laws.series import laws_of
from attncost.measure.store.environment import environment
from attncost.measure.store.sample import Sample
from attncost.measure.store.store import Run, read
from attncost.measure.subjects.layer import layer_subjects
from attncost.measure.sweep.plan import Plan
from attncost.measure.sweep.sweep import sweep

LENGTHS: Final = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
ARTICLE: Final = (64, 128, 256, 512, 1024)
FUSED, NAIVE = "full, fused qkv", "naive, fused qkv"
# Seconds of one sweep, warming up included, that are promised; what it is given, since a round that
# has begun is ended.
PROMISED: Final = 120.0
BUDGET: Final = 100.0
BURNERS: Final = 2


@dataclass(frozen=True, kw_only=True)
class Swept:
    """One sweep of one layer.

    Attributes:
        what: `fused`, `naive` or `fused, busy`.
        samples: Everything that was timed.
        seconds: Wall time of the sweep.
    """

    what: str
    samples: list[Sample]
    seconds: float

    def law(self, lengths: tuple[int, ...] = LENGTHS) -> Law:
        """Fit the law to some of the lengths."""
        (law,) = laws_of(one for one in self.samples if one.length in lengths).fitted.values()
        return law


def one_sweep(
    what: str, attention: str, *, rounds: int, seed: int, budget: float = BUDGET
) -> Swept:
    """Sweep one layer once."""
    subjects = layer_subjects(d_model=512, heads=8, attentions=[attention], qkv=["fused"])
    clock, start = clock_for("cpu"), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(
            Path(folder) / "run", environment(clock, command="python -m benchmarks.laws")
        )
        plan = Plan(lengths=LENGTHS, rounds=rounds, seed=seed, budget=budget)
        sweep(subjects, plan, clock=clock, record=run.append)
        return Swept(what=what, samples=read(run.path)[1], seconds=time.perf_counter() - start)


@contextmanager
def busy() -> Iterator[None]:
    """Keep as many cores busy as the machine shares, by processes of our own."""
    processes = [get_context("spawn").Process(target=_burn, daemon=True) for _ in range(BURNERS)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def _burn() -> None:
    # What others compute is neither in our caches nor made for us.
    words = list(range(100_000))
    while True:
        words.reverse()


def sweeps(*, quick: bool) -> list[Swept]:
    """Sweep everything that a promise speaks of."""
    if quick:
        return [one_sweep("fused", "full", rounds=15, seed=0, budget=30)]
    found = []
    for seed in range(3):
        found.append(one_sweep("fused", "full", rounds=31, seed=seed))
        with busy():
            found.append(one_sweep("fused, busy", "full", rounds=31, seed=seed))
    found.append(one_sweep("naive", "naive", rounds=11, seed=0))
    return found


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one sweep, not busy, <= 60 s")
    parser.add_argument("--json", type=Path, help="where all laws go")
    asked = parser.parse_args()
    found = sweeps(quick=asked.quick)
    show(found)
    peer = compared({one.what: one.law() for one in found}, trials=3 if asked.quick else 20)
    print("\n".join(peer.lines))
    if asked.json:
        keep(found, peer.facts, asked.json)
    return settle([*promises(found), *peer.promises])


def show(found: list[Swept]) -> None:
    """Print the law of each sweep."""
    print(
        f"{'sweep':<12} {'s':>4} {'verdict':<13} {'rms %':>5}  {'long end':<20} {'class':<8} "
        f"{'gap':>4}  {'crossover (1,024 by FLOPs)':<26} {'change'}"
    )
    for one in found:
        law = one.law()
        end, at = law.long_end.measured, law.crossover
        where = f"{at.value:,.0f} [{at.low:,.0f}, {at.high:,.0f}]" if at and at.high else ""
        changed = f"from {law.change.start:,}: {law.change.effect:+.0%}" if law.change else "none"
        print(
            f"{one.what:<12} {one.seconds:>4.0f} {law.verdict.word:<13} {100 * law.rms:>5.2f}  "
            f"{f'{end.value:.3f} [{end.low:.3f}, {end.high:.3f}]':<20} {law.growth.name or '':<8} "
            f"{law.growth.gap or 0:>4.0f}  {where:<26} {changed}"
        )
        for sentence in shares(law):
            print(f"{'':<12} {sentence}")


def keep(found: list[Swept], peer: list[dict[str, Any]], path: Path) -> None:
    """Write all laws with the machine they come from."""
    command = " ".join(["python -m benchmarks.laws", *sys.argv[1:]])
    facts = {
        "environment": environment(clock_for("cpu"), command=command),
        "sweeps": [
            {"what": one.what, "seconds": one.seconds, "law": asdict(one.law())} for one in found
        ],
        "big_o": peer,
    }
    path.write_text(json.dumps(facts, indent=1) + "\n")


def promises(found: list[Swept]) -> list[Promise]:
    """Return what the sweeps owe."""
    fused = [one for one in found if one.what == "fused"]
    laws = [one.law() for one in fused]
    owed = [
        median_of_runs("seconds of a sweep of the fused layer", _seconds(fused), limit=PROMISED),
        median_of_runs("width of the exponent of 1024 to 4096", [*map(_width, laws)], limit=0.10),
        median_of_runs(
            "AICc of n + n² less that of the next class + 10", [*map(_owed, laws)], limit=0
        ),
        median_of_runs("rms error of the law in %", [100 * law.rms for law in laws], limit=4),
        median_of_runs("width of the crossover in %", [*map(_placed, laws)], limit=30),
        median_of_runs("error in % at 4096 of the law up to 1024", [*map(_beyond, fused)], limit=8),
        median_of_runs(
            "sweeps that are not consistent",
            [float(law.verdict.word != "consistent") for law in laws],
            limit=0,
        ),
        median_of_runs(
            "designs of the article that place a crossover",
            [float(one.law(ARTICLE).needed is None) for one in fused],
            limit=0,
        ),
    ]
    return [*owed, *_busy(found), *_naive(found)]


def _busy(found: list[Swept]) -> list[Promise]:
    still, busy = (
        [one.law().long_end.measured.value or 0.0 for one in found if one.what == what]
        for what in ("fused", "fused, busy")
    )
    if not busy:
        return []
    moved = [abs(a - b) for a, b in zip(still, busy, strict=True)]
    return [
        median_of_runs("exponent that two busy processes move by", moved, limit=0.05),
        median_of_runs(
            "width of that exponent beside them",
            [_width(one.law()) for one in found if one.what == "fused, busy"],
            limit=0.10,
        ),
    ]


def _naive(found: list[Swept]) -> list[Promise]:
    laws = [one.law() for one in found if one.what == "naive"]
    if not laws:
        return []
    silent = [float(not any("Page faults" in said for said in shares(law))) for law in laws]
    return [
        median_of_runs("rms error of the naive layer's law in %", _errors(laws), limit=5),
        median_of_runs("naive layers whose page faults go unnamed", silent, limit=0),
    ]


def _errors(laws: list[Law]) -> list[float]:
    return [100 * law.rms for law in laws]


def _seconds(found: list[Swept]) -> list[float]:
    return [one.seconds for one in found]


def _width(law: Law) -> float:
    measured = law.long_end.measured
    return (measured.high or 0.0) - (measured.low or 0.0)


def _owed(law: Law) -> float:
    """Return by how much the gap falls short of 10; all of it if another class is chosen."""
    gap = law.growth.gap if law.growth.name == "n + n²" and law.growth.gap is not None else 0.0
    return 10 - gap


def _placed(law: Law) -> float:
    at = law.crossover
    if at is None or at.value is None or at.low is None or at.high is None:
        return 100.0
    return 100 * (at.high - at.low) / at.value


def _beyond(one: Swept) -> float:
    truth = median(s.seconds for s in one.samples if s.length == LENGTHS[-1] and not s.warmup)
    law = one.law(tuple(n for n in LENGTHS if n <= ARTICLE[-1]))
    return 100 * abs(law.predict(LENGTHS[-1]) / truth - 1)


if __name__ == "__main__":
    raise SystemExit(main())
