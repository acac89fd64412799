"""From samples to medians: what each length takes, and how sure that is.

A sample is as likely above the true median as below, whatever the noise looks like. So of r sorted
samples as many lie below the true median as r coins show heads:

    P(x(k) < median < x(k + 1)) = C(r, k) / 2**r

A draw throws the coins, and takes a value between those two samples. That is a bootstrap by random
signs (Wu, 1986) of ranks; its intervals of one median are right for few samples, where those of
resampled samples are too narrow. There is one coin for each round, and it swaps which lengths were
above their medians in that round and which below: lengths that were slow together stay together,
so what cancels in a ratio mostly cancels in draws. One honest limitation: rounds are taken to be
independent, so a machine that is slow for several rounds on end makes intervals too narrow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from attncost.core.errors import ShapeError
from attncost.measure.laws.law import Margins
from attncost.measure.laws.squares import Values
from attncost.measure.store.summary import FEWEST, interval

DRAWS: Final = 1000
# Nothing that was timed lies outside, in seconds; ratios of such numbers fit in float64.
_SHORTEST: Final = 1e-20
_LONGEST: Final = 1e20


@final
@dataclass(frozen=True, slots=True, eq=False)
class Medians:
    """The time of each length.

    Attributes:
        lengths: Tokens, increasing.
        seconds: The median of each.
        low: Lower end of its 95 % interval, or of its band.
        high: Upper end.
        draws: Medians that may be the true ones, one row a draw; None if there are too few
            samples.
        repeats: The fewest samples that a length has.
        faults: Page faults a call, the median of each length; None if nobody counted them.
    """

    lengths: tuple[int, ...]
    seconds: Values
    low: Values
    high: Values
    draws: Values | None
    repeats: int
    faults: Values | None = None


def summarise(
    seconds: Mapping[int, Sequence[float]],
    *,
    margins: Margins,
    rounds: Mapping[int, Sequence[int]] | None = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> Medians:
    """Take the median of every length, and draw from what it may be if there are samples enough.

    With fewer, a band takes the place of intervals: from the least sample to the greatest, and the
    rounding and the tolerance beyond them.

    Args:
        seconds: The samples of each length.
        margins: What a band forgives.
        rounds: In which round each sample was taken; if left out, the k-th of every length was
            taken in the same.
        seed: Of the draws.
        draws: How many.

    Raises:
        ShapeError: If there are fewer than two lengths, or anything is not positive and finite.
    """
    lengths = tuple(sorted(seconds))
    if len(lengths) < 2 or lengths[0] < 1:
        raise ShapeError(f"a law needs 2 lengths or more, all positive, got {list(lengths)}.")
    samples = [np.array(seconds[n], float) for n in lengths]
    for n, values in zip(lengths, samples, strict=True):
        if not len(values) or not np.all((values >= _SHORTEST) & (values <= _LONGEST)):
            raise ShapeError(
                f"length {n} needs positive seconds, {_SHORTEST:g} to {_LONGEST:g}, got "
                f"{values.tolist()}."
            )
    medians = np.array([np.median(values) for values in samples])
    low, high = np.array([interval(values.tolist()) for values in samples]).T
    if margins.rounding >= low.min():
        raise ShapeError(
            f"rounding must be less than every time, got {margins.rounding:g} s for "
            f"{low.min():g} s."
        )
    repeats = min(len(values) for values in samples)
    if repeats >= FEWEST:
        taken = [range(len(seconds[n])) if rounds is None else rounds[n] for n in lengths]
        drawn = _draws(samples, taken, seed=seed, count=draws)
        return Medians(lengths, medians, low, high, drawn, repeats)
    low = (low - margins.rounding) * (1 - margins.tolerance)
    high = (high + margins.rounding) * (1 + margins.tolerance)
    return Medians(lengths, medians, low, high, None, repeats)


def ends(draws: Values) -> tuple[float, float]:
    """Return the ends between which 95 % of the draws lie; infinity may be one of them."""
    ordered, n = np.sort(draws), len(draws)
    return float(ordered[int(0.025 * n)]), float(ordered[ceil(0.975 * n) - 1])


def _draws(
    samples: Sequence[Values], rounds: Sequence[Sequence[int]], *, seed: int, count: int
) -> Values:
    generator = np.random.default_rng(seed)
    # A length that missed a round has no use for its coin, and shares those of the others.
    known = np.unique(np.concatenate(rounds))
    coins = generator.integers(0, 2, size=(count, len(known))).astype(bool)
    # The same part of the way for all lengths: what slowed all of them down moves all of them.
    way = generator.random(count)
    places = [np.searchsorted(known, taken) for taken in rounds]
    found = [
        _medians(values, coins[:, own], way) for values, own in zip(samples, places, strict=True)
    ]
    return np.stack(found, axis=1)


def _medians(values: Values, coins: NDArray[np.bool_], way: Values) -> Values:
    above = values >= np.median(values)
    below = (above ^ coins).sum(axis=1)
    # Beyond the least and the greatest sample nothing is known, and nothing made up.
    steps = np.pad(np.sort(values), 1, mode="edge")
    return np.asarray((1 - way) * steps[below] + way * steps[below + 1])
