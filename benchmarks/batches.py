"""What does a model take on texts of real lengths, by the way they are put into batches?

    python -m benchmarks.batches [--quick] [--json FILE] [--texts fortunes,foldoc]

MiniLM with real weights reads 384 texts of Debian's packages `fortunes` and `dict-foldoc`. First
every contestant must compute the same numbers; then they take turns in one process, process CPU
time, one thread. What `choose_batching` picks from a calibration of this machine stands beside a
sweep over all ways and all their dials. `benchmarks/README.md` says what the table means.
"""

import argparse
import json
import math
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import torch
from benchmarks.batch_contestants import (
    BASE,
    LONGEST,
    Contestant,
    Ids,
    minilm,
    our_way,
    peers,
)
from benchmarks.batch_promises import MANY, Found, promises, promises_of_padding
from benchmarks.kernels import bar
from benchmarks.promise import settle
from benchmarks.real_texts import SOURCES, missing, texts
from torch.nn.functional import normalize
from transformers import AutoTokenizer

from attncost.batches import ways
from attncost.batches.choose import choose_batching
from attncost.batches.interface import Batching
from attncost.batches.machine import Machine
from attncost.batches.priced import priced
from attncost.batches.ways.bucketed import Bucketed
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded
from attncost.cost.reading import read_config
from attncost.integrations.pretrained import demo_folder
from attncost.integrations.weightless import remembered, weightless
from attncost.measure.clocks.clock import clock_for
from attncost.measure.clocks.threads import threads
from attncost.measure.speed.calibrate import calibrate
from attncost.measure.speed.calibration import Calibration
from attncost.measure.speed.curves import foretold_curves
from attncost.measure.store.environment import environment
from attncost.measure.sweep.interleaved import Samples, ratio

COUNT: Final = 384
# Of a sweep over all ways with all their dials.
SWEPT: Final = 128
QUICK_COUNT: Final = 40
STANDS_IN: Final = Packed(2048)
# On so many texts everybody's numbers are compared.
FEW: Final = 32
AGREE: Final = 1e-5
ROUNDS: Final = 9
QUICK_ROUNDS: Final = 3
# After so many rounds, who takes this many times as long as the fastest is visited no more. The
# base is, until its interval reaches 95 %.
HOPELESS: Final = {1: 1.3, 2: 1.15, 4: 1.08}
BASE_ROUNDS: Final = 6
# Of the largest batch of any way.
SLOTS: Final = 64 * LONGEST


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few texts, <= 60 s")
    parser.add_argument("--json", type=Path, help="where all samples go")
    parser.add_argument("--texts", default=",".join(SOURCES), help="some of these, the first swept")
    asked = parser.parse_args(arguments)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    clock, lacking = clock_for("cpu"), missing()
    for name, reason in lacking.items():
        print(f"not measured: {name}: {reason}")
    names = [name for name in asked.texts.split(",") if name not in lacking]
    if not names:
        return 1
    with threads(1), torch.inference_mode():
        known = None if asked.quick else calibrate(clock, seconds=30)
        runs = [partial(compared, name, known) for name in names]
        if known is None:
            print(f"not measured: the choice; a calibration takes longer, {STANDS_IN} stands in")
            runs = runs[:1]
        else:
            runs = [partial(swept, names[0], known), *runs]
        found = []
        for run in runs:
            found.append(run())
            show(found[-1])
    wasted = padding(names[0])
    if asked.json:
        kept = {
            "environment": environment(clock, command="python -m benchmarks.batches"),
            "wasted": wasted,
            "found": [asdict(one) for one in found],
        }
        asked.json.write_text(json.dumps(kept, indent=1) + "\n")
    owed = [promise for one in found for promise in promises(one)]
    return settle([*owed, *promises_of_padding(names[0], wasted)])


def swept(name: str, known: Calibration) -> Found:
    """Let all our ways with all their dials read texts, beside the one that is chosen."""
    _, ids = tokens(name, SWEPT)
    lengths, model = [len(one) for one in ids], minilm(ours=True)
    chosen = choice(lengths, known)
    ways = {repr(way): way for way in (chosen, *every(lengths))}

    def made(ids: Ids) -> list[Contestant]:
        return [our_way(way, model, ids) for way in ways.values()]

    return measured(f"{name}, swept", ids, made, base=repr(chosen), rounds=ROUNDS)


def compared(name: str, known: Calibration | None) -> Found:
    """Let the chosen way read texts, beside those of others."""
    read, ids = tokens(name, COUNT if known else QUICK_COUNT)
    own, theirs = minilm(ours=True), minilm(ours=False)
    chosen = choice([len(one) for one in ids], known) if known else STANDS_IN

    def made(ids: Ids) -> list[Contestant]:
        return [our_way(chosen, own, ids), *peers(theirs, ids, read[: len(ids)])]

    return measured(name, ids, made, base=BASE, rounds=ROUNDS if known else QUICK_ROUNDS)


def measured(
    name: str, ids: Ids, made: Callable[[Ids], list[Contestant]], *, base: str, rounds: int
) -> Found:
    """Compare the numbers of contestants on a few texts, then their times on all."""
    few = made(ids[:FEW])
    differ = {one.name: disagreement(one, few[0]) for one in few}
    contestants = [one for one in made(ids) if differ[one.name] <= AGREE]
    return Found(
        name=name,
        lengths=tuple(map(len, ids)),
        chosen=few[0].name,
        base=base,
        differ=differ,
        samples=timed(contestants, base, rounds=rounds),
    )


def tokens(name: str, count: int) -> tuple[list[str], list[list[int]]]:
    """Return texts, and what MiniLM's tokenizer makes of them."""
    read, tokenizer = texts(name, count), AutoTokenizer.from_pretrained(demo_folder())
    return read, tokenizer(read, truncation=True, max_length=LONGEST)["input_ids"]


def padding(name: str) -> tuple[float, float]:
    """Return the share of padding of batches of 32 of many texts: at random, and pooled."""
    lengths, sizes = [len(one) for one in tokens(name, MANY)[1]], read_config(demo_folder())
    chance, pooled = (
        priced(way, lengths, sizes).waste.wasted_tokens
        for way in (Padded(32), Bucketed(32, pool=50))
    )
    return chance, pooled


def choice(lengths: Sequence[int], known: Calibration) -> Batching:
    """Return the way that is chosen from a calibration, before any of them runs."""
    machine = minilm_on(known, longest=max(lengths))
    return choose_batching(lengths, read_config(demo_folder()), machine).best.way


def minilm_on(known: Calibration, *, longest: int) -> Machine:
    """Return what MiniLM takes on this machine, as a calibration foretells it."""
    model = weightless("demo")

    def run(batch: int, length: int) -> object:
        return remembered(model.call(length, batch=batch), name=model.name)

    return foretold_curves(run, known, name=model.name, slots=SLOTS, longest=longest)


def every(lengths: Sequence[int]) -> list[Batching]:
    """Return all ways with all their dials."""
    return [way for name in ways.names() for way in ways.load(name).dials(lengths)]


def disagreement(one: Contestant, reference: Contestant) -> float:
    """Return the largest difference of two contestants' sentence vectors, of length 1."""
    found, right = (normalize(means, dim=1) for means in (one.means(), reference.means()))
    return float((found - right).abs().max())


def timed(contestants: Sequence[Contestant], base: str, *, rounds: int) -> Samples:
    """Time all contestants in rounds, those without a chance for the first ones alone.

    A pass takes seconds, so it is timed once a round, and nothing runs before.
    """
    clock, order = clock_for("cpu"), random.Random(0)
    calls = {one.name: one.run for one in contestants}
    samples: Samples = {name: {} for name in calls}
    with bar(rounds) as progress:
        for visit in range(rounds):
            progress(f"{len(calls)} contestants")
            names = sorted(calls)
            order.shuffle(names)
            for name in names:
                samples[name][visit] = clock.time(calls[name], 1).seconds
            middle = {name: median(samples[name].values()) for name in calls}
            limit = HOPELESS.get(visit + 1, math.inf) * min(middle.values())
            kept = {base} if visit + 1 < BASE_ROUNDS else set()
            calls = {
                name: call
                for name, call in calls.items()
                if name in kept or (name != base and middle[name] <= limit)
            }
    return samples


def show(found: Found) -> None:
    """Print all contestants, the fastest first."""
    print(
        f"\n{len(found.lengths)} texts of {found.name}: {sum(found.lengths):,} tokens, median "
        f"{median(found.lengths):g}, longest {max(found.lengths):,}"
    )
    print(f"{'':<44}{'s':>8}{'x base':>8}  95 % interval, rounds")
    middle = {name: median(taken.values()) for name, taken in found.samples.items()}
    for name in sorted(middle, key=middle.__getitem__):
        one = ratio(found.samples, name, found.base)
        mark = "*" if name == found.chosen else " "
        print(
            f"{mark}{_short(name):<43}{middle[name]:>8.2f}{one.figure:>8.3f}  "
            f"[{one.low:.3f}, {one.high:.3f}] {one.rounds}"
        )
    for name, off in found.differ.items():
        if name not in middle:
            print(f" {name:<43} other numbers, off by {off:.1e} of 1: not timed")
    print("* ours")


def _short(name: str) -> str:
    """Return a name that a table of 80 columns has room for."""
    name = name.replace(", multiple=1", "")
    return name if len(name) <= 43 else f"{name[:21]}...{name[-18:]}"


if __name__ == "__main__":
    raise SystemExit(main())
