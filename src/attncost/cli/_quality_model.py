"""`attncost quality MODEL`: other attention in a model as it is, measured against its own."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import typer

from attncost.cli._progress import bar
from attncost.core.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attncost.measure.sweep.interleaved import Ratio
    from attncost.report.document import Document
    from attncost.train.quality.errors import ErrorRow
    from attncost.train.quality.models.compare import Swaps
    from attncost.train.quality.models.reading import Reading

NONE: Final = "none"


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What was typed.

    Attributes:
        attentions: As they are spelled; usual ones, if left out.
        text: A file; the example, if left out.
        length: Tokens of a text at most.
        texts: How many at most.
        passages: Whether lines are joined to texts of one length, as those of the example are.
        by_layer: What is swapped into one layer at a time, or none.
        timed: Whether it is timed as well.
    """

    attentions: tuple[str, ...] | None = None
    text: Path | None = None
    length: int | None = None
    texts: int | None = None
    passages: bool = False
    by_layer: str | None = None
    timed: bool = False


def model_quality(model: str, asked: Asked, *, command: str) -> "Document":
    """Swap attentions into a model, and return what that changes.

    Args:
        model: MODEL.
        asked: What was typed.
        command: What repeats it.

    Raises:
        AttnCostError: If something is mistaken, missing, or cannot be swapped.
    """
    from attncost.measure.sweep.visits import Progress
    from attncost.report.quality.models import ModelQuality, model_document
    from attncost.train.quality.models.compare import compare

    swaps = _swaps(asked)
    with bar() as show:
        show(Progress(f"loading {model}", 0, None))
        reading = reading_of(model, asked)
        found = compare(reading, swaps, lambda doing, done, of: show(Progress(doing, done, of)))
        show(Progress("errors of approximations", 0, None))
        errors = _errors(reading)
        times = _times(
            reading,
            [one.attention for one in found.swapped] if asked.timed else [],
            lambda share: show(Progress("timing side by side", share, 1.0)),
        )
    return model_document(ModelQuality(found=found, errors=errors, times=times, command=command))


def _swaps(asked: Asked) -> "Swaps":
    from attncost.mechanisms.spelling import to_run
    from attncost.train.quality.models.choices import usual
    from attncost.train.quality.models.compare import Swaps

    given = None if asked.attentions is None else tuple(map(to_run, asked.attentions))
    alone = None if asked.by_layer in (None, NONE) else to_run(asked.by_layer)
    return Swaps(
        attentions=lambda length, ahead: usual(length, ahead=ahead) if given is None else given,
        alone=asked.by_layer != NONE,
        alone_of=alone,
    )


def reading_of(model: str, asked: Asked) -> "Reading":
    from attncost.core.example import example_text
    from attncost.integrations.checkpoint import checkpoint
    from attncost.integrations.sizes import is_function
    from attncost.report.example import every_line
    from attncost.train.quality.models.loading import USUAL_TEXTS, Texts, of_checkpoint, of_factory

    for option, number in (("length", asked.length), ("texts", asked.texts)):
        if number is not None and number < 1:
            raise ShapeError(f"--{option} must be at least 1, got {number}.")
    if is_function(model):
        for option in ("text", "texts", "passages"):
            if getattr(asked, option):
                raise ShapeError(f"{model} brings its own inputs: leave --{option} out.")
        return of_factory(model, asked.length)
    found = checkpoint(model)
    path = asked.text or example_text()
    return of_checkpoint(
        found,
        Texts(
            lines=every_line(path, give="give a file with a text on each line."),
            source=path.name,
            together=asked.passages or asked.text is None,
            length=asked.length,
            most=asked.texts or USUAL_TEXTS,
        ),
    )


def _errors(reading: "Reading") -> "dict[str, Sequence[ErrorRow]]":
    """Return errors on activations of the model, and on random numbers of the same sizes."""
    from attncost.train.quality.errors import errors_by_dial, random_calls
    from attncost.train.quality.models.activations import activations

    calls, causal = activations(reading)
    if not calls:
        return {}
    _, heads, length, head_dim = calls[0][0].shape
    numbers = random_calls(heads=heads, length=length, head_dim=head_dim)
    return {
        "activations": errors_by_dial(calls, causal=causal),
        "random numbers": errors_by_dial(numbers, causal=causal),
    }


def _times(
    reading: "Reading", attentions: "Sequence[str]", progress: "Callable[[float], None]"
) -> "dict[str, Ratio]":
    """Time attentions, if there are any."""
    if not attentions:
        return {}
    from attncost.mechanisms.spelling import to_run
    from attncost.train.quality.models.times import times

    tried = [to_run(one) for one in attentions]
    return times(reading, tried, progress, tell=_say)


def _say(words: str) -> None:
    typer.echo(f"attncost: {words}", err=True)
