"""The document of `attncost report`: chapters gathered, what matters first."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, final

from attncost.cost.configuration import Configuration
from attncost.measure.law import Law
from attncost.measure.summary import Measured
from attncost.measure.target import Target
from attncost.report.alternatives import alternatives
from attncost.report.document import Chapter, Document
from attncost.report.padding import padding
from attncost.report.priced import priced
from attncost.report.timed import timed

# Of a run's first row: what a page says in its own places.
_ELSEWHERE: Final = ("schema", "kind", "command")
_LONG: Final = (8192, 16384, 32768, 65536, 131072)
_PRICED: Final = (64, 128, 256, 512, 1024, 2048, 4096)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """A text whose lines are sequences.

    Attributes:
        name: Its file, and what counted its tokens.
        lengths: Tokens of each line.
        batch_size: Lines in a batch.
    """

    name: str
    lengths: Sequence[int]
    batch_size: int


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Timing:
    """What a sweep measured.

    Attributes:
        run: The folder of its samples.
        environment: The first row of that folder.
        cells: Medians, in the order of subjects and lengths.
        laws: The law of each subject.
    """

    run: str
    environment: Mapping[str, Any]
    cells: Sequence[Measured]
    laws: Mapping[str, Law]


def report(
    target: Target,
    *,
    command: str,
    text: Text | None = None,
    timing: Timing | None = None,
    beside: Configuration | None = None,
) -> Document:
    """Gather what can be said about a model.

    Args:
        target: The model or layer.
        command: What reproduces the report.
        text: A text to measure padding on.
        timing: Measured time and memory.
        beside: A model of long contexts to price beside it.
    """
    model = target.configuration
    # Formulas need no measuring: this reproduces all that is computed, and at once.
    formulas = f"{command.partition(' --run')[0]} --no-measure" if timing else command
    lengths = _lengths(target)
    chapters = [priced(model, lengths=lengths, command=formulas)]
    if timing:
        chapters.append(_timed(target, timing))
    if text:
        chapters.append(_padding(model, text, formulas))
    chapters.append(alternatives(model, lengths=lengths, command=formulas))
    if beside and beside != model:
        by_itself = f"attncost report {beside.name}"
        chapters.append(priced(beside, lengths=_LONG, command=by_itself))
        chapters.append(alternatives(beside, lengths=_LONG, command=by_itself))
    return Document(
        schema="attncost.report/1",
        title=f"What attention costs in {_named(target)}",
        subtitle=_subtitle(timing),
        command=command,
        findings=tuple(finding for chapter in chapters for finding in chapter.findings),
        sections=tuple(chapter.section for chapter in chapters),
        facts=_facts(target, timing, text),
    )


def _timed(target: Target, timing: Timing) -> Chapter:
    run, environment = timing.run, timing.environment
    return timed(target, timing.cells, timing.laws, run=run, environment=environment)


def _padding(model: Configuration, text: Text, command: str) -> Chapter:
    return padding(
        text.lengths,
        longest=model.longest,
        batch_size=text.batch_size,
        name=text.name,
        command=command,
    )


def _lengths(target: Target) -> tuple[int, ...]:
    longest = target.configuration.longest
    if not target.lengths and longest is None:
        return _LONG
    return tuple(n for n in _PRICED if longest is None or n <= longest)


def _named(target: Target) -> str:
    name = target.configuration.name
    return target.name if name == "this layer" else name


def _subtitle(timing: Timing | None) -> str:
    if timing is None:
        return "By formula, one sequence, forward"
    where = timing.environment
    return (
        f"One sequence, forward, float32; measured on {where['device']}, {where['processor']}, "
        f"{where['threads']} thread, torch {where['torch']}, by {where['clock']}"
    )


def _facts(target: Target, timing: Timing | None, text: Text | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "model": target.name,
        "contains": (
            f"It contains the number of tokens of each line of {text.name}, and none of its words."
            if text
            else "It contains no text and no weights."
        ),
    }
    if timing:
        facts["environment"] = {
            key: value for key, value in timing.environment.items() if key not in _ELSEWHERE
        }
        facts["measured"] = [asdict(cell) for cell in timing.cells]
        facts["laws"] = {name: asdict(law) for name, law in timing.laws.items()}
    return facts
