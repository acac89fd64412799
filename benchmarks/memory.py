"""Is the peak of memory what attncost says it will be, before anything runs?

    python -m benchmarks.memory [--quick] [--json FILE] [--only CASES] [--lengths LENGTHS]

The truth is the peak that PyTorch's own allocator tells of the second call of its kind, above what
was there before it, in a process of its own. Promised: where attncost says that it is exact, it is
within 0.1 %; where it does not, the truth is no lower; a single layer takes at most 1 s of CPU
time. `benchmarks/README.md` says what the table means.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any, Final, final

import torch
from benchmarks.apart import apart
from benchmarks.kernels import bar
from benchmarks.memory_cases import BACKWARD, CASES, WAYS, Case
from benchmarks.promise import Promise, settle
from torch import nn
from torch.distributed._tools.mem_tracker import MemTracker

import attncost as ac
from attncost.cost.memory.memory import memory
from attncost.measure.clocks.clock import clock_for
from attncost.measure.clocks.threads import threads
from attncost.measure.held.memory import MemoryMonitor
from attncost.measure.store.environment import environment

LENGTHS: Final = (512, 1024, 2048, 4096)
QUICK: Final = (512,)
PATIENCE: Final = 300.0
PERCENT: Final = 0.1
SECONDS: Final = 1.0


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """What came of one case.

    Attributes:
        case: Its name.
        way: Forward, or forward and backward.
        length: Tokens.
        predicted: Bytes above what was there, by attncost.
        exact: Whether it says that they are exact.
        measured: Bytes by the allocator.
        seconds: CPU time of the first prediction.
        peers: Bytes by others; None if one fails.
    """

    case: str
    way: str
    length: int
    predicted: int
    exact: bool
    measured: int
    seconds: float
    peers: dict[str, int | None]

    def off(self, figure: int | None) -> float | None:
        """Return by how much of the truth a figure is too high, in percent."""
        return None if figure is None else 100 * (figure - self.measured) / self.measured


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it."""
    asked = parsed(arguments)
    absent = [name for name in asked.only if not _there(CASES[name].needs)]
    if absent:
        print(f"not asked: {', '.join(absent)}: pip install 'attncost[hf]'.")
    peers = [name for name in PEERS if _there(_NEEDS.get(name, ""))]
    for name in PEERS.keys() - peers:
        print(f"not asked: {name}: `make bench` installs it.")
    there = [name for name in asked.only if name not in absent]
    todo = [(n, name, way) for n in asked.lengths for name in there for way in CASES[name].ways]
    rows = []
    with threads(1), bar(len(todo)) as progress:
        for length, name, way in todo:
            progress(f"{name}, {length}, {way}")
            rows.append(_row(name, way, length, peers))
    for way in WAYS:
        table([row for row in rows if row.way == way], way, peers)
    promises = promised(rows)
    if asked.json:
        command = " ".join(["python -m benchmarks.memory", *sys.argv[1:]])
        whole: dict[str, Any] = {
            "environment": environment(clock_for("cpu"), command=command),
            "rows": [asdict(row) for row in rows],
            "promises": [asdict(one) for one in promises],
        }
        asked.json.write_text(json.dumps(whole, indent=1) + "\n")
    print()
    return settle(promises)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what is asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK[0]} tokens, <= 60 s")
    parser.add_argument("--json", type=Path, help="where all figures go")
    parser.add_argument("--only", help="some of the cases, between slashes", default="")
    parser.add_argument("--lengths", help="tokens, between commas", default="")
    asked = parser.parse_args(arguments)
    asked.only = asked.only.split("/") if asked.only else list(CASES)
    for name in asked.only:
        if name not in CASES:
            parser.error(f"--only: {ac.UnknownName('only', name, list(CASES))}")
    usual = QUICK if asked.quick else LENGTHS
    asked.lengths = [int(n) for n in asked.lengths.split(",")] if asked.lengths else usual
    return asked


def _there(package: str) -> bool:
    return not package or find_spec(package) is not None


def _row(name: str, way: str, length: int, peers: Sequence[str]) -> Row:
    """Ask about a case, everybody in a process of their own."""
    case = CASES[name]
    told = apart(partial(_told, case, way, length), seconds=PATIENCE)
    truth = apart(partial(_measured, case, way, length), seconds=PATIENCE)
    for outcome in (told, truth):
        if outcome.crash is not None:
            raise RuntimeError(f"{name} at {length}, {way}: {outcome.crash}")
    predicted, exact, seconds = told.value
    others = {
        peer: apart(partial(PEERS[peer], case, way, length), seconds=PATIENCE).value
        for peer in peers
    }
    return Row(
        case=name,
        way=way,
        length=length,
        predicted=predicted,
        exact=exact,
        measured=truth.value,
        seconds=seconds,
        peers=others,
    )


def _told(case: Case, way: str, length: int) -> tuple[int, bool, float]:
    """Return what attncost says, of a module without numbers, and the CPU time that it takes."""
    module, inputs = case.make(way, length)
    # What PyTorch imports when fake tensors are first asked for belongs to no layer.
    memory(nn.Linear(2, 2), torch.zeros(1, 2))
    began = process_time()
    with case.grad(way):
        found = memory(module, *inputs, training=way == BACKWARD)
    return found.above, found.exact, process_time() - began


def _measured(case: Case, way: str, length: int) -> int:
    module, inputs = case.make(way, length)
    _step(module, inputs, case, way)
    module.zero_grad()
    with MemoryMonitor("cpu") as meter:
        _step(module, inputs, case, way)
    return meter.peak


def _step(module: nn.Module, inputs: tuple[Any, ...], case: Case, way: str) -> None:
    with case.grad(way):
        out = module(*inputs)
        if way == BACKWARD:
            out.backward()


def _tracked(case: Case, way: str, length: int) -> int:
    """Return the peak by PyTorch's own tracker, on fake tensors, above what was there."""
    with torch._subclasses.FakeTensorMode():
        module, inputs = case.make(way, length)
        tracker = MemTracker()
        tracker.track_external(module, *inputs)
        with tracker:
            before = _total(tracker, "current")
            _step(module, inputs, case, way)
    return _total(tracker, "peak") - before


def _total(tracker: MemTracker, when: str) -> int:
    return sum(found["Total"] for found in tracker.get_tracker_snapshot(when).values())


def _summarised(case: Case, way: str, length: int) -> int:
    """Return the estimate of torchinfo: forward and backward pass without parameters."""
    theirs: Any = import_module("torchinfo")
    module, inputs = case.make(way, length)
    return int(theirs.summary(module, input_data=inputs, verbose=0).total_output_bytes)


PEERS: Final = {"MemTracker": _tracked, "torchinfo": _summarised}
_NEEDS: Final = {"torchinfo": "torchinfo"}


def table(rows: Sequence[Row], way: str, peers: Sequence[str]) -> None:
    """Print one way of all cases."""
    if not rows:
        return
    print(f"\n{way}: MiB above what was there; % that a figure is above the allocator's")
    others = "".join(f"{name:>12}" for name in peers)
    print(f"{'case':<24}{'length':>6}{'MiB':>9}{'allocator':>11}{'%':>8}{'s':>6}{others}")
    for row in rows:
        off = f"{row.off(row.predicted):.3f}{'' if row.exact else ' at least'}"
        cells = "".join(_percent(row.off(row.peers[name])) for name in peers)
        print(
            f"{row.case:<24}{row.length:>6,}{row.predicted / 2**20:>9.2f}"
            f"{row.measured / 2**20:>11.2f}{off:>8}{row.seconds:>6.2f}{cells}"
        )


def _percent(off: float | None) -> str:
    return f"{'crash':>12}" if off is None else f"{off:>12.1f}"


def promised(rows: Sequence[Row]) -> list[Promise]:
    """Return what is promised."""
    exact = [row for row in rows if row.exact]
    figures = {
        f"of {len(exact)} exact peaks, the worst is off by %": (
            max((abs(row.off(row.predicted) or 0.0) for row in exact), default=0.0),
            PERCENT,
        ),
        f"of {len(rows)} peaks, those that are above the truth and say at least": (
            sum(row.predicted > 1.001 * row.measured for row in rows if not row.exact),
            0,
        ),
        "CPU s to predict a single layer, the most": (
            max((row.seconds for row in rows if CASES[row.case].single), default=0.0),
            SECONDS,
        ),
    }
    return [
        Promise(name=name, figure=figure, low=figure, high=figure, limit=limit)
        for name, (figure, limit) in figures.items()
    ]


if __name__ == "__main__":
    raise SystemExit(main())
