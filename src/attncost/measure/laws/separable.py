"""Which further terms a law gets: bytes by formula and page faults, if they can be told apart.

A term that is a sum of the others, to within what noise lets anybody see, stays out, and the law
says which runs would tell them apart: in a sweep of lengths alone n² d FLOPs and n² h bytes grow
alike. All others stay in, whether or not the times ask for them. A term that is kept only where it
seems to take time lends its time to the others wherever it seems to take none: of page faults that
took 9 % of the time the intervals of a law chosen so held the truth in 60 % of runs, not in 95 %.
What that costs is width, where a term that takes no time is kept.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from attncost.measure.laws.medians import Medians
from attncost.measure.laws.results import Alike
from attncost.measure.laws.squares import Values
from attncost.measure.laws.terms import Terms, apart
from attncost.measure.laws.words import WORDS

# A column that differs by less from a sum of others gets its time from noise.
_ALIKE: Final = 0.05
# A term that counts at fewer lengths explains nothing but those.
_FEWEST: Final = 3
# Constant, linear part and attention: through fewer lengths than these pass many laws.
COEFFICIENTS: Final = 3
_TWO: Final = "Two lengths cannot tell the times of three terms apart: measure more of them."
# What a page of memory may take, where one asks whether faults can matter: mapping it takes some
# tenths of a microsecond up to some of them. A hundredth of the time is no matter.
_FAULT_SECONDS: Final = 1e-6
_MATTERS: Final = 1e-2


def kept(terms: Terms, medians: Medians) -> tuple[Terms, tuple[Alike, ...]]:
    """Add the further terms that can be told apart, and say what cannot."""
    alike = []
    if terms.level:
        alike = [_alike("linear", ("constant",))]
    elif len(medians.lengths) < COEFFICIENTS:
        alike = [Alike(("core", "linear", "constant"), _TWO, "lengths")]
    elif terms.merged and terms.linear.any() and terms.core.any():
        alike = [_alike("core", ("linear",))]
    for name, amounts in _candidates(terms, medians):
        if apart(amounts, terms.columns, weights=medians.seconds) < _ALIKE:
            alike.append(_alike(name, terms.names[1:]))
            continue
        more = replace(terms, further=(*terms.further, (name, amounts)))
        # As many terms as lengths would explain anything.
        if len(more.names) < len(medians.lengths) - 1:
            terms = more
    return terms, tuple(alike)


def _candidates(terms: Terms, medians: Medians) -> Iterator[tuple[str, Values]]:
    if medians.faults is not None and _matter(medians.faults, medians.seconds):
        yield "faults", medians.faults
    moved = np.array([p.bytes for p in terms.flops], float)
    if moved.any():
        yield "bytes", moved


def _matter(faults: Values, seconds: Values) -> bool:
    return int(np.sum(faults * _FAULT_SECONDS / seconds > _MATTERS)) >= _FEWEST


def _alike(name: str, others: tuple[str, ...]) -> Alike:
    words = WORDS[name]
    return Alike((name, *others), words.runs, words.varies)
