"""Tasks that tell attentions apart, one a file; the name of the file is the name of the task.

To add one, add one file with one final `Task`. Nothing else lists it: `attncost quality` and the
contract tests find it here.
"""

from dataclasses import fields
from typing import Any

from attncost.core.discovery import Catalogue
from attncost.core.spelling import assignments
from attncost.train.tasks.interface import Task

_CATALOGUE = Catalogue("task", __name__, Task)
names, load = _CATALOGUE.names, _CATALOGUE.load


def task(text: str) -> Task:
    """Return the task that `text` spells: a name, then dials after a colon.

    Raises:
        UnknownName: If there is none of this name, or it has no such dial.
        ShapeError: If a dial is no whole number, or out of its range.
    """
    name, _, rest = text.partition(":")
    _CATALOGUE.load(name)
    return _CATALOGUE.make(name, **assignments(rest, of=name))


def spelling(task: Task) -> str:
    """Return how a task is spelled, without dials that are as ever.

    >>> spelling(task("recall:pairs=4,length=64"))
    'recall:pairs=4'
    """
    name = type(task).__module__.rpartition(".")[2]
    frozen: Any = task  # a dataclass, which the interface does not say
    dials = {f.name: (getattr(frozen, f.name), f.default) for f in fields(frozen)}
    rest = ",".join(f"{key}={value}" for key, (value, usual) in dials.items() if value != usual)
    return f"{name}:{rest}" if rest else name
