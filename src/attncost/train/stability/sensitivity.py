"""How much a way to train minds the learning rate.

    mean over rates of min(loss(rate), loss at the start)  -  the least of these

In nats, 0 where every rate does as well as the best: Wortsman et al. 2023, arXiv:2309.14322,
section 2.2. It says nothing of how good the best is. Rates must be spread as one wants them
weighed: evenly by factors, as in the paper, from 3e-4 to 3e-1.
"""

import math
from collections.abc import Iterable
from statistics import fmean
from typing import Final

from attncost.core.errors import ShapeError

# From the paper's least to its greatest, three or so steps a decade.
RATES: Final = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1)


def sensitivity(losses: Iterable[float], *, start: float) -> float:
    """Return the learning-rate sensitivity.

    Args:
        losses: The loss after training at each rate; what is not finite counts as `start`.
        start: The loss before training.

    Raises:
        ShapeError: If there is no loss, or the start is not finite.

    >>> round(sensitivity([2.5, 2.0, 9.0, math.nan], start=5.5), 3)
    1.875
    """
    if not math.isfinite(start):
        raise ShapeError(f"the loss before training must be finite, got {start}.")
    kept = [min(loss, start) if math.isfinite(loss) else start for loss in losses]
    if not kept:
        raise ShapeError("sensitivity needs the loss of at least 1 learning rate, got none.")
    return fmean(kept) - min(kept)
