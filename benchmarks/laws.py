"""Does the time of one attention layer follow its FLOPs? Several sweeps, one law each.

    python -m benchmarks.laws [--quick] [--json FILE]

The layer of the first article (d_model 512, 8 heads, one matrix for q, k and v), fused and naive,
at 64 to 4096 tokens. Promised: the law of the fused layer is consistent with 8nd² + 4n²d and off by
at most 4 % rms, in the median of 5 runs. No peer fits laws to time, so none stands beside it.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.promise import Promise, median_of_runs, settle

from attncost.measure.clocks.clock import clock_for
from attncost.measure.laws.law import Law
from attncost.measure.laws.run import laws_of
from attncost.measure.store.environment import environment
from attncost.measure.store.store import Run, read
from attncost.measure.sweep.layer import layer_subjects
from attncost.measure.sweep.sweep import Plan, sweep

LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
FUSED = "full, fused qkv"


def one_run(seed: int, *, names: list[str], rounds: int) -> dict[str, Law]:
    """Sweep once and return the law of each subject."""
    subjects = layer_subjects(d_model=512, heads=8, attentions=names, qkv=["fused"])
    clock = clock_for("cpu")
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(
            Path(folder) / "run", environment(clock, command="python -m benchmarks.laws")
        )
        plan = Plan(lengths=LENGTHS, rounds=rounds, seed=seed)
        sweep(subjects, plan, clock=clock, record=run.append)
        return laws_of(read(run.path)[1]).fitted


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 runs without naive, <= 60 s")
    parser.add_argument("--json", type=Path, help="where all laws go")
    asked = parser.parse_args()
    names, runs = (["full"], 2) if asked.quick else (["full", "naive"], 5)
    found = [one_run(seed, names=names, rounds=7) for seed in range(runs)]
    show(found)
    if asked.json:
        keep(found, asked.json)
    return settle(promises([laws[FUSED] for laws in found]))


def show(found: list[dict[str, Law]]) -> None:
    """Print the law of each subject in each run."""
    print(f"{'run':<4} {'subject':<18} {'verdict':<13} {'rms %':>6}  crossover (formula: 1,024)")
    for number, laws in enumerate(found, 1):
        for name, law in laws.items():
            at = law.crossover
            where = f"{at.value:,.0f} [{at.low:,.0f}, {at.high:,.0f}]" if at and at.high else ""
            print(f"{number:<4} {name:<18} {law.verdict.word:<13} {100 * law.rms:>6.2f}  {where}")


def keep(found: list[dict[str, Law]], path: Path) -> None:
    """Write all laws with the machine they come from."""
    command = " ".join(["python -m benchmarks.laws", *sys.argv[1:]])
    where = environment(clock_for("cpu"), command=command)
    rows = [{name: asdict(law) for name, law in laws.items()} for laws in found]
    path.write_text(json.dumps({"environment": where, "runs": rows}, indent=1) + "\n")


def promises(fused: list[Law]) -> list[Promise]:
    """Return what the fused layer owes; runs are what their spread is over."""
    errors = [100 * law.rms for law in fused]
    against = [float(law.verdict.word != "consistent") for law in fused]
    return [
        median_of_runs("rms error of the fused layer's law in %, median of runs", errors, limit=4),
        median_of_runs("runs that are not consistent, median", against, limit=0),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
