"""How time grows, whatever the formula says: a class of growth, chosen by AICc.

    1, n, n log n, n^1.5, n², n + n², n + n³, each with a constant

n·w, in which every query reads w keys, is n as long as w stays the same: a sweep of lengths cannot
tell them apart, and it is called n·w where the formula says so. A class that holds the chosen one
and adds a term is no rival if that term takes at most the tolerance of the time at every length in
97.5 % of draws, or at the best fit where there are no draws; the data then say that the term does
not matter, not that there is none.
"""

from typing import Final

import numpy as np

from attncost.measure.laws.criterion import GAP, aicc
from attncost.measure.laws.law import Margins
from attncost.measure.laws.medians import Medians
from attncost.measure.laws.results import Growth
from attncost.measure.laws.squares import Values, rms, solve, solve_each
from attncost.measure.laws.terms import Terms

LOG: Final = "n log n"
# The powers of n in each class; n log n is 0 here.
CLASSES: Final[dict[str, tuple[float, ...]]] = {
    "1": (),
    "n": (1,),
    LOG: (0,),
    "n^1.5": (1.5,),
    "n²": (2,),
    "n + n²": (1, 2),
    "n + n³": (1, 3),
}
# The largest class has three coefficients, and AICc none for fewer lengths.
FEWEST_FOR_A_CLASS: Final = 6
_BELOW: Final = 0.975


def growth(medians: Medians, terms: Terms, *, noise: float, margins: Margins) -> Growth:
    """Choose the class of the measured times."""
    n = np.array(medians.lengths, float)
    if len(n) < FEWEST_FOR_A_CLASS:
        return Growth(name=None, gap=None, undecided=(), idle=(), criteria={})
    criteria = {
        name: aicc(
            rms(columns_of(name, n), medians.seconds),
            lengths=len(n),
            coefficients=len(powers) + 1,
            noise=noise,
        )
        for name, powers in CLASSES.items()
    }
    chosen, *others = sorted(criteria, key=lambda name: criteria[name])
    gaps = {name: criteria[name] - criteria[chosen] for name in (chosen, *others)}
    idle = [
        name
        for name in others
        if gaps[name] < GAP and _idle(name, chosen, medians, margins.tolerance)
    ]
    rivals = [name for name in others if name not in idle]
    return Growth(
        name=_said(chosen, terms),
        gap=gaps[rivals[0]] if rivals else None,
        undecided=tuple(_said(name, terms) for name in rivals if gaps[name] < GAP),
        idle=tuple(_said(name, terms) for name in idle),
        criteria={_said(name, terms): gap for name, gap in gaps.items()},
    )


def columns_of(name: str, n: Values) -> Values:
    """Return the constant and the terms of a class at each length."""
    return np.stack([n**0, *(n**p if p else n * np.log(n) for p in CLASSES[name])], axis=1)


def _idle(name: str, chosen: str, medians: Medians, tolerance: float) -> bool:
    """Say whether a class only adds to the chosen one what takes no time that matters.

    That is: in 97.5 % of draws, or at the best fit where there are none.
    """
    added = [p for p in CLASSES[name] if p not in CLASSES[chosen]]
    if not set(CLASSES[chosen]) < set(CLASSES[name]):
        return False
    columns = columns_of(name, np.array(medians.lengths, float))
    if medians.draws is None:
        laws, times = solve(columns, medians.seconds)[None], medians.seconds[None]
    else:
        laws, times = solve_each(columns, medians.draws), medians.draws
    places = [1 + CLASSES[name].index(p) for p in added]
    shares = np.max(laws[:, places] @ columns[:, places].T / times, axis=1)
    return float(np.quantile(shares, _BELOW)) <= tolerance


def _said(name: str, terms: Terms) -> str:
    """Return the name of a class; n is called n·w where every query reads as many keys."""
    reads = terms.merged and not terms.level and terms.linear.any() and terms.core.any()
    return "n·w" if name == "n" and reads else name
