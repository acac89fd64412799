"""One law for each series of a run; warm-up rows prove nothing and are left out.

A series is one subject in one batch size, type, mode, number of threads and device. It is named
after its subject, and after what is not usual: several sequences, or another way than forward, in
float32 and on one thread of a CPU.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import final

import numpy as np

from attncost.core.errors import ShapeError
from attncost.measure.laws.fit import fit_medians
from attncost.measure.laws.law import USUAL, Law, Margins
from attncost.measure.laws.medians import summarise
from attncost.measure.laws.predicted import Predicted
from attncost.measure.store.sample import Sample, series_of


@final
@dataclass(frozen=True, slots=True)
class Laws:
    """The laws of a run.

    Attributes:
        fitted: The law of each series that has one, sorted by name.
        without: Why each of the others has none, such as samples of only one length; sorted too.
    """

    fitted: dict[str, Law]
    without: dict[str, str]


def laws_of(samples: Iterable[Sample], *, margins: Margins = USUAL, seed: int = 0) -> Laws:
    """Fit the law of every series, whatever the others lack.

    Raises:
        ShapeError: If a series mixes formulas.
    """
    fitted: dict[str, Law] = {}
    without: dict[str, str] = {}
    for name, taken in series(samples).items():
        rows = [row for row in taken if not row.warmup]
        predicted = _predicted(name, rows)
        if not rows:
            without[name] = (
                "a law needs samples that are no warm-up, got none: measure more rounds."
            )
            continue
        try:
            fitted[name] = _law(rows, predicted, margins=margins, seed=seed)
        except ShapeError as error:
            without[name] = str(error)
    return Laws(fitted, without)


def series(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """Return the samples of each series, by name and sorted."""
    named: dict[str, list[Sample]] = {}
    for row in samples:
        named.setdefault(series_of(row), []).append(row)
    return dict(sorted(named.items()))


def _law(
    rows: Sequence[Sample], predicted: Mapping[int, Predicted], *, margins: Margins, seed: int
) -> Law:
    seconds: dict[int, list[float]] = {}
    faults: dict[int, list[float]] = {}
    rounds: dict[int, list[int]] = {}
    # In one order, whatever that of the rows is.
    for row in sorted(rows, key=lambda row: row.round):
        rounds.setdefault(row.length, []).append(row.round)
        seconds.setdefault(row.length, []).append(row.seconds)
        faults.setdefault(row.length, []).append(row.minor_faults + row.major_faults)
    medians = summarise(seconds, margins=margins, rounds=rounds, seed=seed)
    counted = np.array([median(faults[length]) for length in medians.lengths], float)
    return fit_medians(replace(medians, faults=counted), predicted=predicted, margins=margins)


def _predicted(name: str, rows: Sequence[Sample]) -> dict[int, Predicted]:
    """Return the formula's numbers for each length, if all rows agree on them."""
    predicted: dict[int, Predicted] = {}
    for row in rows:
        found = Predicted(linear=row.linear_flops, core=row.core_flops, bytes=row.bytes)
        if predicted.setdefault(row.length, found) != found:
            raise ShapeError(f"{name}: length {row.length} has more than one count of FLOPs.")
    return predicted
