"""Which further terms a law gets: bytes by formula and page faults, if they can be told apart.

A term that is a sum of the others, to within what noise lets anybody see, stays out, and the law
says which runs would tell them apart: in a sweep of lengths alone n² d FLOPs and n² h bytes grow
alike. Of what is left the choice with the least AICc is kept.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Final

import numpy as np

from attncost.measure.laws.criterion import aicc
from attncost.measure.laws.medians import Medians
from attncost.measure.laws.parts import Alike
from attncost.measure.laws.squares import Values, rms
from attncost.measure.laws.terms import Terms, apart

# A column that differs by less from a sum of others gets its time from noise.
_ALIKE: Final = 0.05
# A term that counts at fewer lengths explains nothing but those.
_FEWEST: Final = 3
# Mapping a page of memory takes some tenths of a microsecond; a tenth of a percent is no matter.
_FAULT_SECONDS: Final = 1e-6
_MATTERS: Final = 1e-2

RUNS: Final = {
    "bytes": (
        "heads",
        "FLOPs and bytes grow alike at these lengths, so no fit tells their times apart: measure "
        "the same d_model with other numbers of heads, which changes bytes alone, and compare the "
        "rates of attention.",
    ),
    "faults": (
        "lengths",
        "Page faults and FLOPs grow alike at these lengths, so no fit tells their times apart: "
        "measure lengths below 32 MiB a block of memory as well, where none occur.",
    ),
    "linear": (
        "batch",
        "The linear part is the same at all of these lengths, so no fit tells its time from the "
        "constant: measure other numbers of sequences as well.",
    ),
    "core": (
        "width",
        "Linear part and attention grow alike at these lengths, so no fit tells their times apart: "
        "measure other widths at the same lengths, and compare the rates.",
    ),
}


def kept(terms: Terms, medians: Medians, *, noise: float) -> tuple[Terms, tuple[Alike, ...]]:
    """Add the further terms that the times ask for, and say what cannot be told apart."""
    alike = []
    if terms.level:
        alike = [Alike(("linear", "constant"), RUNS["linear"][1], RUNS["linear"][0])]
    elif terms.merged and terms.linear.any() and terms.core.any():
        alike = [_alike("core", terms)]
    open_to: list[tuple[str, Values]] = []
    for name, amounts in _candidates(terms, medians):
        if apart(amounts, terms.columns, weights=medians.seconds) < _ALIKE:
            alike.append(_alike(name, terms))
        else:
            open_to.append((name, amounts))
    choices = [
        replace(terms, further=chosen)
        for size in range(len(open_to) + 1)
        for chosen in combinations(open_to, size)
    ]
    return min(choices, key=lambda choice: _criterion(choice, medians, noise)), tuple(alike)


def _candidates(terms: Terms, medians: Medians) -> Iterator[tuple[str, Values]]:
    if medians.faults is not None and _matter(medians.faults, medians.seconds):
        yield "faults", medians.faults
    moved = np.array([p.bytes for p in terms.flops], float)
    if moved.any():
        yield "bytes", moved


def _matter(faults: Values, seconds: Values) -> bool:
    return int(np.sum(faults * _FAULT_SECONDS / seconds > _MATTERS)) >= _FEWEST


def _alike(name: str, terms: Terms) -> Alike:
    varies, runs = RUNS[name]
    others = ("linear",) if name == "core" else terms.names[1:]
    return Alike((name, *others), runs, varies)


def _criterion(terms: Terms, medians: Medians, noise: float) -> float:
    return aicc(
        rms(terms.columns, medians.seconds),
        lengths=len(medians.lengths),
        coefficients=len(terms.names),
        noise=noise,
    )
