"""What is each part of the recipe good for? Train without it at learning rates of three decades.

    python -m benchmarks.stability [--quick] [--json FILE] [--only VARIANTS] [--seeds N]

Byte by byte language, 4 layers of 64 features, 80 steps of 8 sequences, one thread. First the runs
that something is promised of, then all variants at all rates. `--quick` stops after the former.
"""

import argparse
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.kernels import Progress, bar
from benchmarks.promise import Promise, settle

from attncost.core.errors import UnknownName
from attncost.measure.clocks.clock import clock_for
from attncost.measure.clocks.threads import threads
from attncost.measure.store.environment import environment
from attncost.train.stability.sensitivity import RATES, sensitivity
from attncost.train.stability.trial import Trial, trial
from attncost.train.stability.variants import ADVICE, VARIANTS, variant

SEEDS: Final = 3
NAMES: Final = tuple(one.name for one in VARIANTS)
# What promises speak of: a variant and a rate.
PROMISED: Final = (
    ("no norm at all", 3e-2),
    ("no LayerNorm", 3e-1),
    ("the recipe", 3e-1),
    ("no QK-norm", 3e-1),
)
# Whose steps are kept, of the first seed, at these rates.
_CURVES: Final = (3e-2, 3e-1)
# What an article advises is asked for its gradients.
_ADVISED_RATES: Final = (3e-3, 3e-2, 3e-1)
Key = tuple[str, float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it."""
    asked = parsed(arguments)
    kept, owed = run(quick=asked.quick, only=asked.only, seeds=asked.seeds)
    if asked.json:
        here = environment(clock_for("cpu"), command="python -m benchmarks.stability")
        rows = {"environment": here, **kept, "promises": [asdict(one) for one in owed]}
        asked.json.write_text(json.dumps(rows, indent=1, allow_nan=False) + "\n")
    print()
    return settle(owed)


def run(
    *, quick: bool, only: Sequence[str] = NAMES, seeds: int = SEEDS
) -> tuple[dict[str, Any], list[Promise]]:
    """Train, print the tables, and return what pages are made from and what was promised."""
    swept = () if quick else ((name, rate) for name in only for rate in rates(name))
    wanted = list(dict.fromkeys((*PROMISED, *swept)))
    with threads(1), bar(len(wanted) * seeds) as progress:
        found = tried(wanted, seeds=seeds, progress=progress)
    show_losses(found)
    show_worst(found)
    return kept(found), promises(found)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what is asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="what is promised alone, <= 60 s")
    parser.add_argument("--json", type=Path, help="where results go")
    parser.add_argument("--only", default=",".join(NAMES), help="some of %(default)s")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="%(default)s")
    asked = parser.parse_args(arguments)
    asked.only = asked.only.split(",")
    for name in asked.only:
        if name not in NAMES:
            parser.error(f"--only: {UnknownName('variant', name, NAMES)}")
    if asked.seeds < 1:
        parser.error(f"--seeds must be at least 1, got {asked.seeds}.")
    return asked


def rates(name: str) -> tuple[float, ...]:
    """Return at which rates a variant is trained."""
    return _ADVISED_RATES if variant(name) in ADVICE else RATES


def tried(wanted: Iterable[Key], *, seeds: int, progress: Progress) -> dict[Key, list[Trial]]:
    """Train every variant at its rate, from every seed."""
    found: dict[Key, list[Trial]] = {}
    for name, rate in wanted:
        for seed in range(seeds):
            progress(f"{name} at {rate:g}")
            found.setdefault((name, rate), []).append(trial(variant(name), rate, seed))
    return found


def promises(found: dict[Key, list[Trial]]) -> list[Promise]:
    """Return what is promised of divergence and logits: all seeds must keep it."""
    kept = [
        (f"seeds that {name} at {rate:g} does not diverge in", [not x.diverged for x in trials])
        for (name, rate), trials in found.items()
        if (name, rate) in PROMISED[:2]
    ]
    owed = [_worst(name, [float(sum(stable))], 0.0) for name, stable in kept]
    recipe, plain = found["the recipe", 3e-1], found["no QK-norm", 3e-1]
    ends = [math.inf if x.diverged else x.end for x in recipe]
    return [
        *owed,
        _worst("nats of the recipe at 0.3, held out", ends, 3.3),
        _worst("largest logit of the recipe at 0.3", [x.largest_logit for x in recipe], 50.0),
        _worst(
            "1000 / largest logit at 0.3 without QK-norm",
            [1000 / x.largest_logit for x in plain],
            1.0,
        ),
    ]


def _worst(name: str, figures: list[float], limit: float) -> Promise:
    """Return a promise that every seed must keep."""
    worst = max(figures)
    return Promise(name=name, figure=worst, low=worst, high=worst, limit=limit)


def show_losses(found: dict[Key, list[Trial]]) -> None:
    """Print the loss held out by rate, and how much a variant minds the rate."""
    columns = sorted({rate for _, rate in found})
    print("\nnats held out after training, median of seeds; - is not run, x diverged")
    print(f"{'':<18}" + "".join(f"{rate:>7g}" for rate in columns) + f"{'minds':>8}")
    for name in dict.fromkeys(name for name, _ in found):
        row = [found.get((name, rate), []) for rate in columns]
        minds = f"{median(minded(found, name)):>8.3f}" if all(row) and len(row) > 2 else ""
        print(f"{name:<18}" + "".join(f"{_end(trials):>7}" for trials in row) + minds)


def show_worst(found: dict[Key, list[Trial]]) -> None:
    """Print what happened on the way at the highest rates."""
    for rate in _CURVES:
        print(f"\nthe worst of all seeds at {rate:g}")
        print(f"{'':<18}{'nats':>10}{'gradient':>10}{'logit':>10}{'diverged':>12}")
        for (name, at), trials in found.items():
            if at == rate:
                worst = [
                    max(getattr(one, what) for one in trials)
                    for what in ("worst_loss", "worst_gradient", "largest_logit")
                ]
                lost = f"{sum(one.diverged for one in trials)} of {len(trials)}"
                print(f"{name:<18}" + "".join(f"{x:>10.3g}" for x in worst) + f"{lost:>12}")


def minded(found: dict[Key, list[Trial]], name: str) -> list[float]:
    """Return the sensitivity of a variant to the rate, for each seed."""
    rows = zip(*(trials for (one, _), trials in found.items() if one == name), strict=True)
    return [sensitivity([x.end for x in row], start=row[0].start) for row in rows]


def _end(trials: list[Trial]) -> str:
    if not trials:
        return "-"
    return (
        "x"
        if sum(x.diverged for x in trials) > len(trials) / 2
        else f"{median(x.end for x in trials):.3f}"
    )


def kept(found: dict[Key, list[Trial]]) -> dict[str, Any]:
    """Return every run without its steps, and the steps of some."""
    return {
        "trials": [summary(one) for trials in found.values() for one in trials],
        "curves": [curve(trials[0]) for (_, rate), trials in found.items() if rate in _CURVES],
    }


def summary(one: Trial) -> dict[str, Any]:
    """Return a run without its steps; what is not finite is None."""
    return {
        "variant": one.variant,
        "rate": one.rate,
        "seed": one.seed,
        "diverged": one.diverged,
        **{
            name: _rounded(getattr(one, name))
            for name in ("start", "end", "worst_loss", "worst_gradient", "largest_logit")
        },
    }


def curve(one: Trial) -> dict[str, Any]:
    """Return the steps of a run, as text, for they are many."""
    logits = {
        row.step: max(layer.largest_logit or 0.0 for layer in row.layers)
        for row in one.rows
        if row.layers
    }
    return {
        "variant": one.variant,
        "rate": one.rate,
        "seed": one.seed,
        "loss": _listed(row.loss for row in one.rows),
        "gradient_norm": _listed(row.gradient_norm for row in one.rows),
        "logit_steps": _listed(logits),
        "largest_logit": _listed(logits.values()),
    }


def _listed(values: Iterable[float]) -> str:
    return " ".join(f"{x:.4g}" for x in values)


def _rounded(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) else None


if __name__ == "__main__":
    raise SystemExit(main())
