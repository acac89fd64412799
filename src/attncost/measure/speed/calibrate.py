"""Timing of what a machine can do: every family of operations, and what lies between them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import fmean, median
from typing import Any, Final

import torch

from attncost.measure.clocks.interface import Clock, Run
from attncost.measure.clocks.threads import threads
from attncost.measure.speed.calibration import Calibration
from attncost.measure.speed.families import families, placed
from attncost.measure.speed.family import Family, Pool
from attncost.measure.speed.kernels import kernel_calls, kernel_rates
from attncost.measure.speed.operation import KEPT
from attncost.measure.speed.packing import packing_calls, packing_seconds
from attncost.measure.speed.predict import predict
from attncost.measure.speed.record import recorded
from attncost.measure.speed.sampling import Progress, sampled, spread
from attncost.measure.speed.structures import structures, swept
from attncost.measure.speed.table import Table
from attncost.measure.store.environment import environment

_SECONDS: Final = 20.0
_SEPARATOR: Final = " @ "
# Weights of this many rows and columns, one after the other, for what is far away.
_SIDE: Final = 512
_FAR: Final = (1, 2, 4, 8, 24, 56)
_BLOCK: Final = 20 << 20  # numbers of a block that the system hands out anew
_SIDE_PEAK: Final = 1024
_SWEPT: Final = 1 << 21  # numbers that leave nothing else in the nearest caches
_PAGE: Final = 1024


def calibrate(
    clock: Clock,
    *,
    command: str = "",
    seconds: float = _SECONDS,
    progress: Progress = lambda _: None,
) -> Calibration:
    """Return what this machine takes for its operations, with one thread.

    Args:
        clock: How to time.
        command: What repeats it.
        seconds: About how long it takes by this clock.
        progress: Is told how far it is, from 0 to 1.
    """
    with threads(1), torch.inference_mode():
        calls = probes()
        samples = sampled(calls, clock, budget=seconds, progress=progress, steady=delicate(calls))
        return calibrated(samples, environment=environment(clock, command=command))


def probes() -> dict[str, Run]:
    """Return all calls whose seconds `calibrated` reads, by name; they infer on one thread."""
    pool = Pool()
    found: dict[str, Run] = {}
    for family in families().values():
        for point in _points(family):
            found[_name(family, point)] = family.probe(pool, point)
    block = torch.zeros(_SWEPT, device="cpu")
    least = {_name(one, one.least): found[_name(one, one.least)] for one in families().values()}
    cold = {_cold(name): swept(call, block) for name, call in (structures() | least).items()}
    found |= cold | structures() | {"sweep": block.sum}
    # Once a block is freed that is mapped alone, glibc keeps those on its heap that are smaller.
    torch.empty(KEPT // 8 - _PAGE, device="cpu").zero_()
    return found | _between(pool) | kernel_calls() | packing_calls()


def delicate(names: Collection[str]) -> frozenset[str]:
    """Return the calls of which small differences are taken, so that they are timed for longer."""
    whole = {"sweep", *structures()}
    return frozenset(name for name in names if name in whole or name.endswith(_cold("")))


def calibrated(
    samples: Mapping[str, list[float]], *, environment: Mapping[str, Any]
) -> Calibration:
    """Return what samples say of a machine.

    Args:
        samples: Seconds of each call that `calibrate` times, by its name.
        environment: Where they come from.
    """
    middle = {name: median(found) for name, found in samples.items()}
    far = _distances(middle)
    bare = Calibration(
        flops_per_second=2 * _SIDE_PEAK**3 / middle["peak"],
        bytes_per_second=8 * _BLOCK / middle["copied"],
        view=middle["views"] / 4,
        python=0.0,
        waking=0.0,
        fault=max(0.0, (middle["filled anew"] - middle["filled"]) / (4 * _BLOCK)),
        far=far,
        tables={one.name: _table(one, samples) for one in families().values()},
        kernels=kernel_rates(middle),
        packed=packing_seconds(middle),
        drift=_drift(samples),
        environment=environment,
    )
    python = max(0.0, median(_around(bare, middle).values()))
    known = replace(bare, python=python)
    woken = [
        middle[_cold(name)] - middle["sweep"] - middle[name] - _starting(name, known)
        for name in structures()
    ]
    return replace(known, waking=max(0.0, median(woken)))


def _around(bare: Calibration, middle: Mapping[str, float]) -> dict[str, float]:
    """Return what is left of small structures for each operation, once all these are priced."""
    found = {}
    for name, call in structures().items():
        told = predict(call, bare)
        found[name] = (middle[name] - (told.seconds.value or 0.0)) / max(told.operations, 1)
    return found


def _starting(name: str, known: Calibration) -> float:
    """Return what the operations of a structure take longer, each once, after a sweep."""
    tables = set()
    for one in recorded(structures()[name]).operations:
        place = placed(one) if one.kind != "free" else None
        if place is not None:
            tables.add(place[0])
    return sum(known.tables[table].cold - known.tables[table].start for table in tables)


def _cold(name: str) -> str:
    return f"{name}, cold"


def _points(family: Family) -> list[tuple[int, ...]]:
    return [family.least, *product(*family.knots)]


def _name(family: Family, point: tuple[int, ...]) -> str:
    return f"{family.name}{_SEPARATOR}{point}"


def _table(family: Family, samples: Mapping[str, list[float]]) -> Table:
    least = _name(family, family.least)
    start = median(samples[least])
    cold = median(samples[_cold(least)]) - median(samples["sweep"])
    rates, spreads = [], []
    for point in product(*family.knots):
        found = samples[_name(family, point)]
        # Where the start is nearly all of it, at least a tenth is taken for the work.
        seconds = max(median(found) - start, median(found) / 10)
        rates.append(seconds / family.work(point))
        spreads.append(spread(found))
    return Table(
        start=start,
        cold=max(start, cold),
        knots=family.knots,
        rates=tuple(rates),
        spread=fmean(spreads),
    )


def _between(pool: Pool) -> dict[str, Run]:
    """Return what no family is: views, new blocks, what is far away, the fastest product."""
    x, row = pool.take(8, 8), pool.take(8, _SIDE)
    weights = [pool.take(_SIDE, _SIDE, at=at).t() for at in range(max(_FAR))]
    block, copy = (torch.zeros(_BLOCK, device="cpu") for _ in range(2))
    side = pool.take(_SIDE_PEAK, _SIDE_PEAK)

    def views() -> None:
        x.view(64)
        x.t()
        x.select(0, 1)
        x.as_strided((2, 3), (3, 1))

    def rotate(count: int) -> None:
        for weight in weights[:count]:
            torch.mm(row, weight)

    far: dict[str, Callable[[], object]] = {_far(n): partial(rotate, n) for n in _FAR}
    return far | {
        "views": views,
        "copied": lambda: copy.copy_(block),
        "filled": lambda: block.fill_(0.0),
        "filled anew": lambda: torch.empty(_BLOCK, device="cpu").fill_(0.0),
        "peak": lambda: torch.mm(side, side),
    }


def _far(count: int) -> str:
    return f"far{_SEPARATOR}{count}"


def _distances(middle: Mapping[str, float]) -> tuple[tuple[int, float], ...]:
    """Return what a byte costs more by its distance; it never falls."""
    size, found, most = 4 * _SIDE**2, [], 0.0
    nearest = middle[_far(_FAR[0])] / _FAR[0]
    for count in _FAR:
        most = max(most, (middle[_far(count)] / count - nearest) / size)
        found.append((count * size, most))
    return tuple(found)


def _drift(samples: Mapping[str, list[float]]) -> float:
    """Return how far all calls of a round are off together, relative; one standard deviation."""
    rounds = min(map(len, samples.values()))
    middle = {name: median(found) for name, found in samples.items()}
    shared = [
        median(found[visit] / middle[name] for name, found in samples.items() if middle[name])
        for visit in range(rounds)
    ]
    return spread(shared)
