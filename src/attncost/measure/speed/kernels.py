"""What our own kernels take, fitted to measured calls: the table that choosing one reads.

nanoseconds = start + calls * call + flops * flop + masked * mask
"""

from collections.abc import Mapping
from functools import cache, partial
from typing import Final

import numpy as np
import torch

from attncost.core.options import Options
from attncost.kernels.calls import checked
from attncost.kernels.choose import every
from attncost.kernels.interface import Work
from attncost.kernels.rates import Rates
from attncost.measure.clocks.interface import Run
from attncost.patterns import load, names
from attncost.patterns.interface import Pattern

_HEADS: Final = 8
_HEAD_DIM: Final = 64
_LENGTHS: Final = (64, 256, 512)
_KERNELS: Final = ("folded", "reference", "sdpa")
_PATTERNS: Final = ("full", "causal", "window", "strided", "longformer", "bigbird")


def kernel_calls() -> dict[str, Run]:
    """Return calls of our kernels under several patterns, by name."""
    return {
        name: partial(every()[kernel].run, *_inputs(n), pattern, Options())
        for name, kernel, pattern, n in _cells()
    }


def kernel_rates(seconds: Mapping[str, float]) -> dict[str, Rates]:
    """Return the rates of each kernel that fit the seconds of these calls best.

    Args:
        seconds: Of each call, by the names of `kernel_calls`.
    """
    found: dict[str, list[tuple[Work, float]]] = {kernel: [] for kernel in _KERNELS}
    for name, kernel, pattern, n in _cells():
        call = checked(*_inputs(n), pattern, Options())
        found[kernel].append((every()[kernel].work(call), seconds[name]))
    return {kernel: fitted(samples, heads=_HEADS) for kernel, samples in found.items()}


def fitted(samples: list[tuple[Work, float]], *, heads: int) -> Rates:
    """Return the rates with the least squares of relative errors; none is negative.

    Args:
        samples: What a kernel did, and in how many seconds.
        heads: Of each call.
    """
    from scipy.optimize import nnls  # noqa: PLC0415 -- half a second, and only a fit needs it

    rows, weights = [], []
    for work, seconds in samples:
        flops = 2 * heads * (work.pairs - work.skipped) * (work.head_dim + work.value_dim)
        rows.append([1, work.calls, flops, work.masked])
        weights.append(1 / (1e9 * max(seconds, 1e-12)))
    scaled = np.array(rows, dtype=float) * np.array(weights)[:, None]
    start, call, flop, mask = (float(x) for x in nnls(scaled, np.ones(len(rows)))[0])
    return Rates(start=start, call=call, flop=flop, mask=mask)


@cache
def _cells() -> tuple[tuple[str, str, Pattern, int], ...]:
    patterns = {name: load(name)() for name in _PATTERNS if name in names()}
    return tuple(
        (f"{kernel}, {name}, {n}", kernel, pattern, n)
        for kernel in _KERNELS
        for name, pattern in patterns.items()
        for n in _LENGTHS
    )


def _inputs(n: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    q, k, v = torch.zeros(3, 1, _HEADS, n, _HEAD_DIM, device="cpu")
    return q, k, v
