"""Ways to put a text into batches as they were timed, beside what was predicted."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, final

from attncost.batches.priced import Priced, priced
from attncost.core.units import show
from attncost.measure.trials.ways import WayTime
from attncost.report.compared_ways import Comparison
from attncost.report.document import Column, Finding, Section, Table

_TITLE: Final = "Measured here"


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Trials:
    """What some lines of a text took in each way.

    Attributes:
        times: Of each way; the usual one comes first.
        priced: The same lines by formula, by the name of the way.
        lines: How many the whole text has.
        not_run: Why some ways were not timed, in a sentence; empty if all were.
    """

    times: tuple[WayTime, ...]
    priced: Mapping[str, Priced]
    lines: int
    not_run: str = ""

    @property
    def usual(self) -> WayTime:
        """What the others are compared with."""
        return self.times[0]

    @property
    def best(self) -> WayTime:
        """The fastest."""
        return min(self.times, key=lambda one: one.ratio.figure)

    def predicted(self, one: WayTime) -> float:
        """Return the ratio to the usual way that was predicted for these lines."""
        return self.priced[one.name].price / self.priced[self.usual.name].price


def tried(
    found: Comparison, times: Sequence[WayTime], *, lengths: Sequence[int], not_run: str
) -> Trials:
    """Return what was timed beside the price of the same lines.

    Args:
        found: What was compared.
        times: What its ways took, the usual one first.
        lengths: Tokens of the lines that were timed, as they came.
        not_run: Why some ways were not timed, in a sentence; empty if all were.
    """
    ways, asked, order = found.timed, found.asked, range(len(lengths))
    return Trials(
        times=tuple(times),
        priced={
            one.name: priced(
                ways[one.name].way, lengths, asked.model, machine=asked.machine, order=order
            )
            for one in times
        },
        lines=len(found.base.priced.lengths),
        not_run=not_run,
    )


def trials_section(trials: Trials, *, command: str) -> Section:
    """Return a table of what was measured.

    Args:
        trials: It.
        command: What repeats it.
    """
    table = Table(
        title=f"Measured time of {trials.usual.texts:,} lines",
        columns=(
            Column("way"),
            Column("time", "seconds"),
            *(Column(name, "times") for name in ("of usual", "low", "high", "predicted")),
        ),
        rows=tuple(
            _row(trials, one) for one in sorted(trials.times, key=lambda one: one.ratio.figure)
        ),
        note=_note(trials),
        command=command,
    )
    return Section(title=_TITLE, text=(trials.not_run,) if trials.not_run else (), blocks=(table,))


def trials_finding(trials: Trials, *, command: str) -> Finding:
    """Return which way was the fastest.

    Args:
        trials: What was measured.
        command: What repeats it.
    """
    usual, best = trials.usual, trials.best
    figure, low, high = (
        show(x, "times") for x in (best.ratio.figure, best.ratio.low, best.ratio.high)
    )
    return Finding(
        key="measured_batching",
        text=(
            f"Measured on {usual.texts:,} lines: {best.name} takes {figure} ({low} to {high}) the "
            f"time of {usual.name}, {show(trials.predicted(best), 'times')} by prediction."
        ),
        values=trials_facts(trials)[trials.times.index(best)],
        command=command,
    )


def trials_facts(trials: Trials) -> list[dict[str, Any]]:
    """Return the same as plain data."""
    return [{**asdict(one), "predicted": trials.predicted(one)} for one in trials.times]


def _row(trials: Trials, one: WayTime) -> tuple[Any, ...]:
    ratio = one.ratio
    return (one.name, one.seconds, ratio.figure, ratio.low, ratio.high, trials.predicted(one))


def _note(trials: Trials) -> str:
    usual = trials.usual
    return (
        f"{usual.texts:,} of {trials.lines:,} lines, as long and as short as all of them, "
        f"{usual.tokens:,} tokens; all ways in each of {usual.ratio.rounds} rounds, one thread, "
        "float32. Low and high: 95 % interval of the ratio, of 6 rounds or more, else all of them. "
        "Predicted: of the same lines."
    )
