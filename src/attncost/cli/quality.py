"""`attncost quality`: what cheaper attention costs in quality, on a task or in a model."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from attncost.cli._command import changed, command
from attncost.cli._lists import names
from attncost.cli._output import check_writable, write
from attncost.cli._printed import printed
from attncost.core.errors import ShapeError, UnknownName

if TYPE_CHECKING:
    from attncost.report.document import Document

# Options that only trained comparisons have, and only models.
_TRAINED: Final = (
    *("seeds", "steps", "learning_rate", "d_model", "layers", "heads", "held_out", "folder"),
)
_SWAPPED: Final = ("text", "length", "texts", "passages", "by_layer", "timed")
# Those that say where a result goes, and not what it is.
_BESIDE: Final = ("subject", "folder", "output", "as_json")
_TYPED: Final = {"timed": "time"}


def quality(
    subject: Annotated[
        str,
        typer.Argument(
            help="a task (bytes, digits, recall, selective_copy), such as recall:pairs=16, or a "
            "model"
        ),
    ],
    attention: Annotated[
        str | None,
        typer.Option(
            help="such as causal,window:width=16,linear:causal=1; usual ones, if left out"
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="of a task: runs of each attention")] = 3,
    steps: Annotated[
        int | None, typer.Option(help="of a task: of training; its usual ones, if left out")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="of a task: at its peak; its usual one, if left out")
    ] = None,
    d_model: Annotated[int, typer.Option(help="of a task: features of a token")] = 64,
    layers: Annotated[int, typer.Option(help="of a task: blocks of the model")] = 2,
    heads: Annotated[int, typer.Option(help="of a task: heads of a block")] = 2,
    held_out: Annotated[int, typer.Option(help="of a task: sequences to judge on, at most")] = 1024,
    folder: Annotated[
        Path | None,
        typer.Option(help="of a task: keeps the runs; finished ones are not made again"),
    ] = None,
    text: Annotated[
        Path | None, typer.Option(help="of a model: what it reads; a novel, if left out")
    ] = None,
    length: Annotated[
        int | None, typer.Option(help="of a model: tokens of a text, at most")
    ] = None,
    texts: Annotated[int | None, typer.Option(help="of a model: texts, at most")] = None,
    passages: Annotated[
        bool, typer.Option("--passages", help="of a model: join lines to texts of that length")
    ] = False,
    by_layer: Annotated[
        str | None, typer.Option(help="of a model: attention put into one layer at a time, or none")
    ] = None,
    timed: Annotated[
        bool, typer.Option("--time", help="of a model: time it as well, side by side")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="write a page, such as quality.html")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, every digit")] = False,
) -> None:
    """Put the quality of attentions beside their cost.

    For instance: attncost quality recall --attention causal,window:width=16

    On a task, small models are trained with each attention from several seeds. In a model, each
    attention is put in place of its own as it is, without training.
    """
    given = dict(locals())
    if output is not None:
        check_writable(output)
    document = _trained(given) if _is_task(subject) else _swapped(given)
    _print(document, output, as_json=as_json)


def _is_task(subject: str) -> bool:
    """Say whether it is the name of a task.

    Raises:
        ShapeError: If it is empty, or ends with a colon.
        UnknownName: If it is almost one, and names nothing else that is there.
    """
    from difflib import get_close_matches

    from attncost.train.tasks import names as tasks

    if not subject:
        raise ShapeError(f"a task or a model is compared, got ''; tasks: {', '.join(tasks())}.")
    name, colon, dials = subject.partition(":")
    if name in tasks():
        if colon and not dials:
            raise ShapeError(f"{subject} has no dial after the colon: write {name} alone.")
        return True
    if get_close_matches(name, tasks(), cutoff=0.75) and not Path(subject).exists():
        raise UnknownName("task", name, tasks())
    return False


def _trained(given: Mapping[str, Any]) -> "Document":
    from attncost.cli._quality_task import task_quality

    _left_out(given, _SWAPPED, f"{given['subject']} is a task, on which models are trained")
    wished = {name: given[name] for name in (*_TRAINED, "attention")}
    wishes = {name: value for name, value in given.items() if name not in _BESIDE}
    usual = changed(quality, wishes)

    def again(attentions: str) -> str:
        return command("quality", [given["subject"]], {**usual, "attention": attentions})

    return task_quality(given["subject"], wished, again=again)


def _swapped(given: Mapping[str, Any]) -> "Document":
    from attncost.cli._quality_model import Asked, model_quality
    from attncost.train.tasks import names as tasks

    _left_out(given, _TRAINED, f"{given['subject']} is a model, which is not trained")
    wishes = {name: value for name, value in given.items() if name not in _BESIDE}
    typed = {_TYPED.get(name, name): value for name, value in changed(quality, wishes).items()}
    listed = names(given["attention"])
    asked = Asked(
        attentions=None if listed is None else tuple(listed),
        **{name: given[name] for name in _SWAPPED},
    )
    again = command("quality", [given["subject"]], typed)
    try:
        return model_quality(given["subject"], asked, command=again)
    except UnknownName as error:
        if repr(given["subject"]) not in str(error):
            raise
        raise ShapeError(f"{error} Tasks: {', '.join(tasks())}.") from error


def _left_out(given: Mapping[str, Any], options: tuple[str, ...], reason: str) -> None:
    """Refuse what would be dropped in silence."""
    for name in changed(quality, {option: given[option] for option in options}):
        typed = _TYPED.get(name, name).replace("_", "-")
        raise ShapeError(f"{reason}: leave --{typed} out.")


def _print(document: "Document", output: Path | None, *, as_json: bool) -> None:
    from attncost.report.html import html

    if output is not None:
        write(output, html(document))
    printed(document, as_json=as_json)
