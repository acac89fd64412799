"""A trained comparison on the command line: what is to be done, progress, and Ctrl-C."""

import shlex
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from attncost.cli._exit import Interrupted
from attncost.cli._lists import names
from attncost.cli._progress import bar
from attncost.core.errors import ShapeError

if TYPE_CHECKING:
    from attncost.report.document import Document
    from attncost.train.quality.tasks.comparison import Comparison


def task_quality(name: str, given: Mapping[str, Any], *, again: Callable[[str], str]) -> "Document":
    """Train what is not trained yet, and return what was found.

    Args:
        name: Of the task, with its dials.
        given: The options as they were typed.
        again: Returns the command that trains attentions, which have commas between.

    Raises:
        AttnCostError: If an option is mistaken, before anything is trained.
        Interrupted: At Ctrl-C; what was trained is kept.
    """
    from attncost.measure.sweep.visits import Progress
    from attncost.report.quality.tasks import task_document
    from attncost.train.quality.tasks.study import study

    asked = _asked(name, given)
    folder = given["folder"] or Path(f"attncost-quality-{datetime.now():%Y%m%d-%H%M%S}")
    try:
        with bar() as show:
            found = study(
                asked,
                folder,
                begin=lambda kept: _say(_announced(asked, folder, kept=kept)),
                progress=lambda doing, done, total: show(Progress(doing, done, total)),
                tell=_say,
            )
    except KeyboardInterrupt as interrupt:
        command = f"{again(','.join(asked.attentions))} --folder {shlex.quote(str(folder))}"
        raise Interrupted(
            f"interrupted; {command} goes on with what is in {folder}."
        ) from interrupt
    return task_document(found, lambda some: again(",".join(some)))


def _asked(name: str, given: Mapping[str, Any]) -> "Comparison":
    from attncost.train.quality.tasks.comparison import Comparison
    from attncost.train.quality.tasks.usual import (
        attentions_of,
        usual_attentions,
        usual_recipe,
    )
    from attncost.train.tasks import task
    from attncost.train.transformer import Sizes

    chosen = task(name)
    listed = names(given["attention"])
    for one in listed or ():
        if listed and listed.count(one) > 1:
            raise ShapeError(f"--attention must be names that differ, got {one} twice or more.")
    return Comparison(
        task=chosen,
        attentions=attentions_of(tuple(listed or usual_attentions(chosen))),
        recipe=usual_recipe(chosen, steps=given["steps"], learning_rate=given["learning_rate"]),
        sizes=Sizes(**{size: given[size] for size in ("d_model", "layers", "heads")}),
        seeds=given["seeds"],
        held_out=given["held_out"],
    )


def _announced(asked: "Comparison", folder: Path, *, kept: int) -> str:
    """Say how many runs there are."""
    runs = len(asked.runs)
    said = (
        f"{_many(runs, 'run')} of {_many(asked.recipe.steps, 'step')}: "
        f"{_many(len(asked.attentions), 'attention')} from {_many(asked.seeds, 'seed')}, "
        f"kept in {folder}"
    )
    if not kept:
        return f"{said}."
    left = runs - kept
    return f"{said}, where {kept:,} {'is' if kept == 1 else 'are'} finished; {left:,} to go."


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _say(words: str) -> None:
    typer.echo(f"attncost: {words}", err=True)
