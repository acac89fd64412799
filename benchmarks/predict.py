"""How far are predicted times from measured ones, at lengths and shapes that were not calibrated?

    python -m benchmarks.predict [--quick] [--json FILE]

Calibrates the machine and times whole calls in the same rounds, so that neither side has the slower
half of a shared machine; then predicts these calls from the calibration alone. Process CPU time,
one thread. Promised, of the relative error: SDPA layer median 5 %, worst 15 %; other patterns 10
and 25 %; MiniLM end to end 10 %. A roofline of the same rates stands beside it.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from benchmarks.promise import Promise, settle
from torch import nn

from attncost.measure.clocks.clock import clock_for
from attncost.measure.clocks.threads import threads
from attncost.measure.speed.calibrate import calibrated, delicate, probes
from attncost.measure.speed.calibration import Calibration
from attncost.measure.speed.operation import Recording
from attncost.measure.speed.predict import PredictedTime, predicted
from attncost.measure.speed.record import recorded
from attncost.measure.speed.sampling import sampled
from attncost.measure.store.environment import environment
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.layer import layer_subjects
from attncost.measure.subjects.target import target

SDPA = "SDPA layer"
PATTERNS = "other patterns"
NAIVE = "naive layer"
TRAINING = "training step"
MODEL = "MiniLM"
NAMES = (
    "causal",
    "window",
    "dilated",
    "strided",
    "fixed",
    "block",
    "longformer",
    "bigbird",
    "global_tokens",
    "window2d",
)
# Of each group the median and the worst error that are promised, in percent; None for no promise.
LIMITS = {SDPA: (5, 15), PATTERNS: (10, 25), NAIVE: (None, None), TRAINING: (None, None)}
MODEL_LIMIT = 10


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A whole call that is predicted and timed.

    Attributes:
        group: What it is one of.
        name: What it is.
        call: What is timed.
        record: Returns its operations, as nothing is computed.
    """

    group: str
    name: str
    call: Callable[[], object]
    record: Callable[[], Recording]


def wholes(*, quick: bool) -> Iterator[Whole]:
    """Give the calls; these sizes were chosen once the predictions were as they are."""
    shapes = ((512, 8),) if quick else ((320, 5), (448, 7), (512, 8), (640, 10))
    lengths = (80, 352, 720) if quick else (80, 176, 352, 720, 1360, 2800, 4000)
    for d_model, heads in shapes:
        yield from _layers(SDPA, ("full",), (d_model, heads), lengths)
    patterned = NAMES[:4] if quick else NAMES
    yield from _layers(PATTERNS, patterned, (640, 10), (352,) if quick else (208, 880, 2600))
    yield from _layers(NAIVE, ("naive",), (512, 8), (112, 352) if quick else (112, 352, 900, 1700))
    for n in (112,) if quick else (112, 448, 1200):
        yield _step(n)
    subject = target("demo").subjects(["sdpa"])[0]
    for n in (72, 232) if quick else (24, 72, 136, 232, 328, 456):
        call = subject.prepare(Case(length=n))
        yield Whole(group=MODEL, name=f"{n} tokens", call=call, record=partial(recorded, call))


def _layers(
    group: str, names: tuple[str, ...], shape: tuple[int, int], lengths: tuple[int, ...]
) -> Iterator[Whole]:
    d_model, heads = shape
    for name in names:
        (subject,) = layer_subjects(
            d_model=d_model, heads=heads, attentions=[name], qkv=["separate"]
        )
        for n in lengths:
            call = subject.prepare(Case(length=n))
            title = f"{name}, {d_model}/{heads}, {n}"
            yield Whole(group=group, name=title, call=call, record=partial(recorded, call))


def _step(n: int) -> Whole:
    layer = nn.MultiheadAttention(512, 8, batch_first=True)
    x = torch.randn(1, n, 512, requires_grad=True)

    def forward(x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = layer(x, x, x, need_weights=False)[0]
        return out

    def step() -> None:
        layer.zero_grad()
        x.grad = None
        out = forward(x)
        torch.autograd.backward(out, torch.ones_like(out))

    def learning() -> None:
        with torch.inference_mode(False), torch.enable_grad():
            step()

    def record() -> Recording:
        with torch.inference_mode(False), torch.enable_grad():
            return recorded(forward, x, training=True)

    return Whole(group=TRAINING, name=f"512/8, {n}", call=learning, record=record)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds, <= 60 s")
    parser.add_argument("--json", type=Path, help="where all rows go")
    asked = parser.parse_args()
    clock, every = clock_for("cpu"), list(wholes(quick=asked.quick))
    command = " ".join(["python -m benchmarks.predict", *sys.argv[1:]])
    with threads(1), torch.inference_mode():
        names = {f"{one.group}: {one.name}": one for one in every}
        calls = probes() | {name: one.call for name, one in names.items()}
        budget = 20 if asked.quick else 150
        samples = sampled(
            calls,
            clock,
            budget=budget,
            progress=lambda _: None,
            steady=names.keys() | delicate(calls),
        )
        found = calibrated(samples, environment=environment(clock, command=command))
        rows = [_row(one, samples[name], found) for name, one in names.items()]
    show(rows)
    print(
        f"Python {1e6 * found.python:.1f} us an operation, waking {1e6 * found.waking:.0f} us, "
        f"drift {found.drift:.1%}, {len(next(iter(samples.values())))} rounds"
    )
    if asked.json:
        kept = {"environment": dict(found.environment), "rows": rows}
        asked.json.write_text(json.dumps(kept, indent=1) + "\n")
    return settle(promises(rows))


def _row(one: Whole, samples: list[float], known: Calibration) -> dict[str, Any]:
    told: PredictedTime = predicted(one.record(), known)
    seconds = median(samples)
    value = told.seconds.value or 0.0
    return {
        "group": one.group,
        "name": one.name,
        "seconds": seconds,
        "predicted": value,
        "low": told.seconds.low,
        "high": told.seconds.high,
        "roofline": told.roofline,
        "utilisation": told.utilisation,
        "unpriced": told.unpriced,
        "samples": samples,
    }


def error(row: dict[str, Any], of: str = "predicted") -> float:
    """Return the relative error of a row in percent, positive where it says too much."""
    return 100 * (float(row[of]) / float(row["seconds"]) - 1)


def show(rows: list[dict[str, Any]]) -> None:
    """Print every call, then every group."""
    print(f"{'':<46} {'measured':>10} {'predicted':>10} {'error %':>8} {'roofline %':>10}  inside")
    for row in rows:
        inside = "yes" if row["low"] <= row["seconds"] <= row["high"] else "no"
        print(
            f"{row['group'] + ': ' + row['name']:<46} {1e3 * row['seconds']:>7.2f} ms "
            f"{1e3 * row['predicted']:>7.2f} ms {error(row):>8.1f} {error(row, 'roofline'):>10.1f}"
            f"  {inside}"
        )
    for group in dict.fromkeys(row["group"] for row in rows):
        mine = [row for row in rows if row["group"] == group]
        off, roof = ([abs(error(row, of)) for row in mine] for of in ("predicted", "roofline"))
        print(
            f"{group}: median {median(off):.1f} %, worst {max(off):.1f} %; "
            f"roofline {median(roof):.1f} %, {max(roof):.1f} %"
        )


def promises(rows: list[dict[str, Any]]) -> list[Promise]:
    """Return what is owed: a median and a worst error for each group, the worst for the model."""
    found = []
    for group, (middle, worst) in LIMITS.items():
        off = [abs(error(row)) for row in rows if row["group"] == group]
        if off and middle and worst:
            found.append(_promise(f"{group}, median error in %", median(off), middle))
            found.append(_promise(f"{group}, worst error in %", max(off), worst))
    off = [abs(error(row)) for row in rows if row["group"] == MODEL]
    if off:
        found.append(_promise(f"{MODEL} end to end, worst error in %", max(off), MODEL_LIMIT))
    return found


def _promise(name: str, figure: float, limit: float) -> Promise:
    return Promise(name=name, figure=figure, low=figure, high=figure, limit=limit)


if __name__ == "__main__":
    raise SystemExit(main())
