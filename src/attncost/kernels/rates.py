"""How long a kernel takes for its work: the measured table that the choice of a kernel reads.

    nanoseconds = start + calls * call + flops * flop + masked * mask

Only ratios matter for a choice, and they vary less between machines than seconds do. Measured in
float32 on a CPU, one thread, torch 2.13, by `python -m benchmarks.rates`.
"""

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


def predicted(work: Work, dims: Dims, rates: Rates) -> Count:
    """Return the nanoseconds that a kernel takes for its work."""
    pairs = dims.batch * dims.heads * (work.pairs - work.skipped)
    flops = 2 * pairs * (work.head_dim + work.value_dim)
    around = rates.start + work.calls * rates.call + work.masked * rates.mask
    return around + flops * rates.flop
