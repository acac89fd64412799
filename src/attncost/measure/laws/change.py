"""Whether one law holds for all lengths, or from some length on another does.

A kernel that changes its ways, a cache that is full or an allocator that begins to map memory
anew shows as a step: from a length on a term takes another time for the same amount, or all of
them do. Such a law of two segments has one coefficient and one place more than that of one. It
is believed if its AICc is less by 10 and if it changes the time by more than the tolerance. At
least 3 lengths lie on each side, so what changes at the last two is not seen.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np

from attncost.measure.laws.criterion import GAP, aicc
from attncost.measure.laws.law import Margins
from attncost.measure.laws.medians import Medians
from attncost.measure.laws.results import Change
from attncost.measure.laws.squares import Values, rms, solve
from attncost.measure.laws.terms import Terms

_FEWEST: Final = 3
# Where a step of all terms is looked for: times 16 either way, then closer and closer.
_WIDEST: Final = 4.0
_CLOSER: Final = 5
_TRIED: Final = 9
# A term that takes less of the time takes none.
_IDLE: Final = 1e-2
# Error, factor of each length, term.
_Step: TypeAlias = tuple[float, Values, str, float | None]


def change(medians: Medians, terms: Terms, *, noise: float, margins: Margins) -> Change | None:
    """Return the most likely change, if there is one."""
    count, coefficients = len(medians.lengths), len(terms.names)

    def criterion(error: float, more: int) -> float:
        return aicc(error, lengths=count, coefficients=coefficients + more, noise=noise)

    one = criterion(rms(terms.columns, medians.seconds), 0)
    found: list[Change] = []
    if not np.isfinite(criterion(noise, 2)) or one - criterion(noise, 2) < GAP:
        return None
    for place in range(_FEWEST, count - _FEWEST + 1):
        error, factors, term, factor = min(
            _steps(terms, medians.seconds, place), key=lambda step: step[0]
        )
        effects = np.abs(factors - 1)
        at = int(np.argmax(effects))
        found.append(
            Change(
                start=medians.lengths[place],
                before=medians.lengths[place - 1],
                term=term,
                factor=factor,
                effect=float(factors[at] - 1),
                at=medians.lengths[at],
                gap=one - criterion(error, 2),
            )
        )
    best = max(found, key=lambda step: step.gap, default=None)
    if best is None or best.gap < GAP or abs(best.effect) <= margins.tolerance:
        return None
    return best


def _steps(terms: Terms, seconds: Values, place: int) -> Iterator[_Step]:
    """Yield the best law of two segments for each term that may change, and for all of them."""
    later = np.arange(len(seconds)) >= place
    columns = terms.columns
    for i, name in enumerate(terms.names):
        before, after = np.where(later, 0, columns[:, i]), np.where(later, columns[:, i], 0)
        if not before.any() or not after.any():
            continue
        both = np.column_stack([np.delete(columns, i, axis=1), before, after])
        c = solve(both, seconds)
        law = both @ c
        same = law - both[:, -1] * c[-1] + after * c[-2]
        factors = np.divide(law, same, out=np.ones_like(law), where=same > 0)
        idle = float(np.max(before * c[-2] / seconds)) < _IDLE
        factor = None if idle else float(c[-1] / c[-2])
        yield rms(both, seconds), factors, name, factor
    factor = _factor(columns, seconds, place)
    factors = np.where(later, factor, 1.0)
    yield rms(columns, seconds / factors), factors, "all", factor


def _factor(columns: Values, seconds: Values, place: int) -> float:
    """Return by how much all terms take longer later, at the best law."""
    later, middle, width = np.arange(len(seconds)) >= place, 0.0, _WIDEST
    for _ in range(_CLOSER):
        tried = middle + np.linspace(-width, width, _TRIED)
        errors = [rms(columns, seconds / np.where(later, 2.0**x, 1.0)) for x in tried]
        middle, width = float(tried[int(np.argmin(errors))]), width * 2 / (_TRIED - 1)
    return float(2.0**middle)
