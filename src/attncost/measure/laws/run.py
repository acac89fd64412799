"""One law for each subject of a run; warm-up rows prove nothing and are left out."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from attncost.core.errors import ShapeError
from attncost.measure.laws.fit import fit_law
from attncost.measure.laws.law import USUAL, Law, Margins
from attncost.measure.laws.predicted import Predicted
from attncost.measure.store.store import Sample


@final
@dataclass(frozen=True, slots=True)
class Laws:
    """The laws of a run.

    Attributes:
        fitted: The law of each subject that has one, sorted by name.
        without: Why each of the others has none, such as samples of only one length; sorted too.
    """

    fitted: dict[str, Law]
    without: dict[str, str]


def laws_of(samples: Iterable[Sample], *, margins: Margins = USUAL, seed: int = 0) -> Laws:
    """Fit the law of every subject, whatever the others lack.

    Raises:
        ShapeError: If a subject mixes batch sizes, types or formulas.
    """
    subjects: dict[str, list[Sample]] = {}
    for sample in samples:
        rows = subjects.setdefault(sample.subject, [])
        if not sample.warmup:
            rows.append(sample)
    fitted: dict[str, Law] = {}
    without: dict[str, str] = {}
    for name, rows in sorted(subjects.items()):
        predicted = _predicted(name, rows)
        if not rows:
            without[name] = (
                "a law needs samples that are no warm-up, got none: measure more rounds."
            )
            continue
        try:
            fitted[name] = fit_law(_seconds(rows), predicted=predicted, margins=margins, seed=seed)
        except ShapeError as error:
            without[name] = str(error)
    return Laws(fitted, without)


def _predicted(name: str, rows: list[Sample]) -> dict[int, Predicted]:
    """Return the FLOPs of each length, if all rows belong to one law."""
    calls = {(row.batch, row.dtype) for row in rows}
    if len(calls) > 1:
        raise ShapeError(f"{name}: one law is of one batch size and type, got {sorted(calls)}.")
    predicted: dict[int, Predicted] = {}
    for row in rows:
        flops = Predicted(linear=row.linear_flops, core=row.core_flops)
        if predicted.setdefault(row.length, flops) != flops:
            raise ShapeError(f"{name}: length {row.length} has more than one count of FLOPs.")
    return predicted


def _seconds(rows: list[Sample]) -> dict[int, list[float]]:
    """Return the samples of each length in the order of their rounds."""
    seconds: dict[int, list[float]] = {}
    for row in sorted(rows, key=lambda row: row.round):
        seconds.setdefault(row.length, []).append(row.seconds)
    return seconds
