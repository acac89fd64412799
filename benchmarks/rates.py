"""How long kernels take for what they do: the table that choosing one reads.

    python -m benchmarks.rates [--quick] [--json FILE]

Times every kernel that takes a call over patterns and lengths, with process CPU time and one
thread, and fits start + calls * call + flops * flop + masked * mask by non-negative least squares
of the relative error. Prints the table of `attncost/kernels/rates.py` as this machine would write
it. Promised: the kernel that the bundled table prefers is at most 1.15 times as slow as the fastest
one, in the median of all calls.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from statistics import median

import torch
from benchmarks.promise import median_of_runs, settle
from benchmarks.subjects import HEAD_DIM, HEADS, patterns

from attncost.core.options import Options
from attncost.kernels.calls import checked
from attncost.kernels.choose import every, ranked
from attncost.kernels.interface import Work
from attncost.kernels.rates import Rates
from attncost.measure.clocks.clock import clock_for
from attncost.measure.speed.kernels import fitted
from attncost.measure.store.environment import environment
from attncost.measure.sweep.interleaved import interleave

KERNELS = ("sdpa", "folded", "reference")
NAMES = ("full", "causal", "window", "strided", "fixed", "longformer", "bigbird", "block")
Sample = tuple[Work, float]


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer lengths and rounds, <= 60 s")
    parser.add_argument("--json", type=Path, help="where all samples go")
    asked = parser.parse_args()
    lengths = (64, 256, 1024) if asked.quick else (16, 64, 128, 256, 512, 1024, 2048)
    torch.set_num_threads(1)
    samples: dict[str, list[Sample]] = {name: [] for name in KERNELS}
    losses = []
    for n in lengths:
        for name in NAMES:
            losses.append(_measured(name, n, 5 if asked.quick else 9, samples))
            print(f"{name:<12} {n:>6}  {losses[-1]:.2f} x the fastest")
    tables = {name: fitted(found, heads=HEADS) for name, found in samples.items()}
    for name, rates in tables.items():
        print(f'    "{name}": {_rounded(rates)},')
    if asked.json:
        where = environment(clock_for("cpu"), command=" ".join(sys.argv))
        rows = {name: [(asdict(w), t) for w, t in found] for name, found in samples.items()}
        found = {name: asdict(rates) for name, rates in tables.items()}
        asked.json.write_text(
            json.dumps({"environment": where, "rates": found, "samples": rows}, indent=1) + "\n"
        )
    name = "time of the preferred kernel over the fastest, median of all calls"
    return settle([median_of_runs(name, losses, limit=1.15)])


def _measured(name: str, n: int, rounds: int, samples: dict[str, list[Sample]]) -> float:
    """Time all kernels, keep their samples, and return what the present choice loses."""
    pattern = patterns()[name]
    q, k, v = torch.randn(3, 1, HEADS, n, HEAD_DIM)
    call = checked(q, k, v, pattern, Options())
    runs = {one: lambda one=one: every()[one].run(q, k, v, pattern, Options()) for one in KERNELS}
    found = interleave(runs, clock_for("cpu"), rounds=rounds, wanted=lambda _: KERNELS)
    seconds = {one: median(found[one].values()) for one in KERNELS}
    for one in KERNELS:
        samples[one].append((every()[one].work(call), seconds[one]))
    preferred = next(one for one in ranked(call) if one in KERNELS)
    return seconds[preferred] / min(seconds.values())


def _rounded(rates: Rates) -> Rates:
    """Return rates as they are written into the bundled table."""
    return Rates(
        start=round(rates.start),
        call=round(rates.call),
        flop=round(rates.flop, 4),
        mask=round(rates.mask, 1),
    )


if __name__ == "__main__":
    raise SystemExit(main())
