"""What a sweep measured, series by series, as a report shows it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from attncost.measure.laws.series import Laws, laws_of, series
from attncost.measure.store.sample import Sample, unusual
from attncost.measure.store.summary import Measured
from attncost.measure.subjects.target import OWN
from attncost.report.measured import medians


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Timing:
    """What a sweep measured.

    Attributes:
        run: The folder of its samples.
        environment: The first row of that folder.
        cells: Medians, in the order of series and lengths.
        laws: The law of each series that has one.
        attentions: What computes attention in each series.
        unusual: Series of several sequences, or that run in another way than forward, in float32
            and on one thread of a CPU.
    """

    run: str
    environment: Mapping[str, Any]
    cells: Sequence[Measured]
    laws: Laws
    attentions: Mapping[str, str]
    unusual: frozenset[str] = frozenset()

    @classmethod
    def of(cls, run: str, environment: Mapping[str, Any], samples: Sequence[Sample]) -> "Timing":
        """Return what the samples of a run say.

        Args:
            run: The folder of the samples.
            environment: The first row of that folder.
            samples: All of them.
        """
        one = {name: rows[0] for name, rows in series(samples).items()}
        return cls(
            run=run,
            environment=environment,
            cells=tuple(cell for cells in medians(samples).values() for cell in cells),
            laws=laws_of(samples),
            attentions={name: row.labels.get("attention", name) for name, row in one.items()},
            unusual=frozenset(name for name, row in one.items() if unusual(row)),
        )

    def series_of(self, names: Iterable[str]) -> dict[str, str]:
        """Return the series of each attention: the usual one, if it is among the names."""
        found: dict[str, str] = {}
        for name in sorted(names, key=lambda name: name in self.unusual):
            found.setdefault(self.attentions[name], name)
        return found

    def called(self, attention: str, name: str) -> str:
        """Return what to call an attention in a sentence: its series, if that is unusual."""
        return name if name in self.unusual else attention


def own_subject(timing: Timing) -> str:
    """Return the series of the model's own attention, or else the first."""
    names = timing.series_of(timing.attentions)
    return names[own_attention(names)]


def own_attention(names: Iterable[str]) -> str:
    """Return the model's own attention, or else the first."""
    first, *_ = given = list(names)
    return next((name for name in given if name in OWN), first)
