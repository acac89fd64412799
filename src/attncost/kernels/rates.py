"""How long a kernel takes for its work: the measured table that the choice of a kernel reads.

    nanoseconds = start + calls * call + flops * flop + masked * mask

Only ratios matter for a choice, and they vary less between machines than seconds do. Measured in
float32 on a CPU, one thread, torch 2.13, by `python -m benchmarks.rates`; rates that were measured
on another machine can be put in their place for a while, see `using`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, final

from attncost.core.counts import Count
from attncost.core.dims import Dims
from attncost.kernels.interface import Work


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What a kernel takes, in nanoseconds.

    Attributes:
        start: Once.
        call: For each batched product or fused call.
        flop: For each FLOP of a product.
        mask: For each element of a mask.
    """

    start: float
    call: float
    flop: float
    mask: float


USUAL: Final = Rates(start=40_000, call=20_000, flop=0.02, mask=10.0)
RATES: Final = {
    "sdpa": Rates(start=40_000, call=20_000, flop=0.02, mask=10.0),
    "reference": Rates(start=100_000, call=20_000, flop=0.05, mask=10.0),
    "folded": Rates(start=100_000, call=150_000, flop=0.022, mask=10.0),
}


# The tables in use with a number of their own each, the last one in force: the bundled one is 0.
_IN_USE: Final[list[tuple[int, Mapping[str, Rates]]]] = [(0, RATES)]
_DRAWN: Final = [0]


@contextmanager
def using(table: Mapping[str, Rates]) -> Iterator[None]:
    """Choose kernels by another table meanwhile, such as that of a calibration.

    It holds for all threads. A kernel that the table does not name keeps what it usually has.

    >>> slow = {"folded": Rates(start=1e9, call=1e9, flop=1.0, mask=1.0)}
    >>> with using(slow):
    ...     rates_of("folded").start
    1000000000.0
    >>> rates_of("folded") == RATES["folded"]
    True

    Args:
        table: Rates by the name of the kernel.
    """
    _DRAWN[0] += 1
    entry = (_DRAWN[0], {**RATES, **table})
    _IN_USE.append(entry)
    try:
        yield
    finally:
        _IN_USE.remove(entry)


def rates_of(kernel: str) -> Rates:
    """Return the rates of a kernel by the table in force."""
    return _IN_USE[-1][1].get(kernel, USUAL)


def in_force() -> int:
    """Return the number of the table in force; none is ever drawn twice."""
    return _IN_USE[-1][0]


def predicted(work: Work, dims: Dims, rates: Rates) -> Count:
    """Return the nanoseconds that a kernel takes for its work."""
    pairs = dims.batch * dims.heads * (work.pairs - work.skipped)
    flops = 2 * pairs * (work.head_dim + work.value_dim)
    around = rates.start + work.calls * rates.call + work.masked * rates.mask
    return around + flops * rates.flop
