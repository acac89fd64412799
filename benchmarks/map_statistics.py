"""What statistics of attention take, beside attention alone and beside n x n weights.

    python -m benchmarks.map_statistics LENGTH

Prints the MiB that one causal call takes at most beyond what was resident before it, its results
included.
"""

import math
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

import torch
from benchmarks.peak import available, most_resident, printed, resident
from benchmarks.promise import Promise, median_of_runs
from torch import Tensor
from torch.nn.functional import pad
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attncost.measure.clocks.clock import clock_for
from attncost.measure.clocks.threads import threads
from attncost.measure.sweep.interleaved import Samples, interleave, ratio
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.view.statistics.gauges import Gauges
from attncost.view.statistics.statistics import statistics

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTH: Final = 8192
FEATURES: Final = 64
GAUGES: Final = Gauges()
# Of each ratio: ours, what it is a multiple of, and the most that was promised; the last one is
# the other way round, since ours is to be 5 times as fast.
RATIOS: Final = (
    ("statistics, causal", "SDPA, causal", 1.5),
    ("statistics, full", "SDPA, full", 2.2),
    ("statistics, causal", "n x n, causal", 1 / 5),
)
MEMORY_LENGTH: Final = 16_384
MEMORY_LIMIT: Final = 60.0
_SHORT: Final = 512


def timed(rounds: int, *, written: int) -> Samples:
    """Time all contestants in turns.

    Args:
        rounds: How often.
        written: How often n x n weights are written out, which takes seconds.
    """
    q, k, v = one_head(LENGTH)
    calls: dict[str, Callable[[], object]] = {
        "SDPA, causal": partial(sdpa, q, k, v, is_causal=True),
        "SDPA, full": partial(sdpa, q, k, v),
        "statistics, causal": partial(statistics, q, k, v, Causal(), gauges=GAUGES),
        "statistics, full": partial(statistics, q, k, v, Full(), gauges=GAUGES),
        "n x n, causal": partial(written_out, q[0, 0], k[0, 0], v[0, 0]),
    }

    def wanted(samples: Samples) -> list[str]:
        return [name for name in calls if "n x n" not in name or len(samples[name]) < written]

    with threads(1), torch.inference_mode():
        return interleave(calls, clock_for("cpu"), rounds=rounds, wanted=wanted)


def promises(samples: Samples) -> list[Promise]:
    """Return what is promised of time."""
    found = [(one, other, limit, ratio(samples, one, other)) for one, other, limit in RATIOS]
    return [
        Promise(
            name=f"{one} / {other}, n = {LENGTH:,}",
            figure=of.figure,
            low=of.low,
            high=of.high,
            limit=limit,
        )
        for one, other, limit, of in found
    ]


def memory(times: int) -> list[Promise]:
    """Return what is promised of memory, measured so often; nothing where it cannot be read."""
    if not available():
        return []
    command = [sys.executable, "-m", "benchmarks.map_statistics", str(MEMORY_LENGTH)]
    taken = [printed(command)[0] for _ in range(times)]
    name = f"MiB of statistics, n = {MEMORY_LENGTH:,}"
    return [median_of_runs(name, taken, limit=MEMORY_LIMIT)]


def written_out(q: Tensor, k: Tensor, v: Tensor) -> dict[str, Tensor]:
    """Return the same causal statistics from n x n weights, as one writes them down."""
    n, at = len(q), torch.arange(len(q))
    scores = (q @ k.T * q.shape[1] ** -0.5).masked_fill(at > at[:, None], -math.inf)
    weights, distance = scores.softmax(-1), (at[:, None] - at).abs()
    nearer = torch.zeros_like(weights).scatter_add_(1, distance, weights).cumsum(1)
    side = -(-n // GAUGES.map_size)
    whole = pad(weights, (0, -n % side, 0, -n % side))
    return {
        "lse": scores.logsumexp(-1),
        "entropy": -torch.special.xlogy(weights, weights).sum(-1),
        "largest": weights.amax(-1),
        "logit": scores.amax(-1),
        "distance": (weights * distance).sum(-1),
        "quantiles": torch.stack([(nearer < share).sum(-1) for share in GAUGES.quantiles], -1),
        "within": nearer[:, [min(width, n) - 1 for width in GAUGES.widths]],
        "on_first": weights[:, : GAUGES.first].sum(-1),
        "on_self": weights.diagonal(),
        "on_previous": pad(weights.diagonal(-1), (1, 0)),
        "negligible": weights.masked_fill(weights >= GAUGES.negligible, 0).sum(-1),
        "received": weights.mean(0),
        "map": whole.unfold(0, side, side).unfold(1, side, side).sum((2, 3)),
        "by_distance": nearer.diff(dim=1, prepend=torch.zeros(n, 1)).mean(0),
        "output": weights @ v,
    }


def one_head(length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return random queries, keys and values of one head."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, 1, length, FEATURES, generator=generator)
    return 2 * q, k, v


def main() -> int:
    """Print what one call takes."""
    length = int(sys.argv[1])
    with threads(1), torch.inference_mode():
        statistics(*one_head(_SHORT), Causal())
        q, k, v = one_head(length)
        before = resident()
        print(most_resident(partial(statistics, q, k, v, Causal())) - before)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
