"""Intervals over texts: what another sample of the same kind of texts could have shown.

A mean gets the percentile bootstrap over texts (Efron 1979, "Bootstrap methods"), a share of texts
the score interval (Wilson 1927), which does not shrink to a point where all texts agree. Both say
nothing of other kinds of texts.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from attncost.train.quality.estimate import Estimate

_LEVEL: Final = 0.95
_SAMPLES: Final = 2000
# Fewer texts say nothing of how much they differ.
_LEAST: Final = 2


def mean_of(sums: Sequence[float], counts: Sequence[int] | None = None) -> Estimate:
    """Return the mean over all tokens, texts drawn again as a whole.

    Args:
        sums: Of each text.
        counts: Over how many tokens each sum goes; 1 if left out.
    """
    from scipy.stats import bootstrap  # noqa: PLC0415 -- takes longer to import than all the rest

    over = np.asarray(sums, float)
    of = np.ones(len(over)) if counts is None else np.asarray(counts, float)
    value = float(over.sum() / of.sum())
    if len(over) < _LEAST:
        return Estimate(value)
    found = bootstrap(
        (over, of),
        lambda a, b, axis=-1: a.sum(axis) / b.sum(axis),
        n_resamples=_SAMPLES,
        confidence_level=_LEVEL,
        method="percentile",
        paired=True,
        vectorized=True,
        random_state=0,
    ).confidence_interval
    return Estimate(value, float(found.low), float(found.high))


def share_of(agree: Sequence[bool]) -> Estimate:
    """Return the share of texts of which something is true."""
    from scipy.stats import binomtest  # noqa: PLC0415 -- takes longer to import than all the rest

    found = binomtest(sum(agree), len(agree))
    ends = found.proportion_ci(_LEVEL, method="wilson")
    return Estimate(float(found.statistic), float(ends.low), float(ends.high))
