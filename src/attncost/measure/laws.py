"""One law for each subject of a run; warm-up rows prove nothing and are left out."""

from collections.abc import Iterable

from attncost.core.errors import ShapeError
from attncost.measure.fit import fit_law
from attncost.measure.law import USUAL, Law, Margins
from attncost.measure.store import Sample
from attncost.measure.subject import Predicted


def laws_of(
    samples: Iterable[Sample], *, margins: Margins = USUAL, seed: int = 0
) -> dict[str, Law]:
    """Fit the law of every subject, sorted by name.

    Raises:
        ShapeError: If there is nothing to fit, or a subject mixes batch sizes, types or formulas.
    """
    subjects: dict[str, list[Sample]] = {}
    for sample in samples:
        if not sample.warmup:
            subjects.setdefault(sample.subject, []).append(sample)
    if not subjects:
        raise ShapeError("a law needs samples that are no warm-up, got none: measure more rounds.")
    return {
        name: _law(name, rows, margins=margins, seed=seed)
        for name, rows in sorted(subjects.items())
    }


def _law(name: str, rows: list[Sample], *, margins: Margins, seed: int) -> Law:
    calls = {(row.batch, row.dtype) for row in rows}
    if len(calls) > 1:
        raise ShapeError(f"{name}: one law is of one batch size and type, got {sorted(calls)}.")
    seconds: dict[int, list[float]] = {}
    predicted: dict[int, Predicted] = {}
    for row in rows:
        flops = Predicted(linear=row.linear_flops, core=row.core_flops)
        if predicted.setdefault(row.length, flops) != flops:
            raise ShapeError(f"{name}: length {row.length} has more than one count of FLOPs.")
        seconds.setdefault(row.length, []).append(row.seconds)
    try:
        return fit_law(seconds, predicted=predicted, margins=margins, seed=seed)
    except ShapeError as error:
        raise ShapeError(f"{name}: {error}") from error
