"""What `attncost measure` was asked for, read from its options."""

import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

from attncost.cli._command import command
from attncost.cli._lists import names, numbers
from attncost.core.errors import ShapeError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Callable

    from attncost.measure.subjects.target import Target
    from attncost.measure.sweep.isolated import Limits
    from attncost.measure.sweep.plan import Plan
    from attncost.measure.sweep.task import Task

_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600}
_LIMITS: Final = ("memory", "deadline")

T = TypeVar("T")


def asked(given: dict[str, Any], chosen: "Target") -> "Task":
    """Return what to measure.

    Args:
        given: The options as they were typed.
        chosen: The model.

    Raises:
        AttnCostError: If an option is mistaken.
    """
    from attncost.measure.sweep.task import Named, Task

    limits = _limits(given)
    words = {name: _differing(name, given[name]) for name in ("attention", "qkv", "kernel")}
    attentions, qkv, kernels = (None if w is None else tuple(w) for w in words.values())
    return Task(
        named=Named(model=chosen.name, attentions=attentions, qkv=qkv, kernels=kernels),
        plan=_plan(given, chosen),
        limits=limits,
    )


def again(given: dict[str, Any], task: "Task") -> str:
    """Return the command that repeats it; defaults are written out, whatever they will be."""
    wishes = {
        "lengths": ",".join(map(str, task.plan.lengths)),
        **{name: given[name] for name in ("attention", "kernel", "qkv")},
        **{name: given[name] for name in ("batch", "dtype", "mode", "threads")},
        **{name: given[name] for name in ("rounds", "budget", "enough", "seed", "device")},
        **{name: given[name] for name in ("isolate", *_LIMITS)},
    }
    return command("measure", [given["model"]], wishes)


def seconds(text: str, *, of: str) -> float:
    """Read a time; without a unit it is in seconds.

    >>> seconds("120", of="--budget"), seconds("1.5s", of="--budget"), seconds("2m", of="--budget")
    (120.0, 1.5, 120.0)

    Raises:
        ShapeError: If it is none, or not positive.
    """
    found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,12})?|\.\d{1,12})\s*([smh]?)", text.strip().lower())
    if found is None or not float(found[1]):
        raise ShapeError(f"{of} must be a positive time such as 90s, 2m or 1h, got {text!r}.")
    return float(found[1]) * _SECONDS[found[2]]


def _plan(given: dict[str, Any], chosen: "Target") -> "Plan":
    from attncost.measure.sweep.plan import Plan

    lengths = given["lengths"]
    return Plan(
        lengths=chosen.lengths if lengths is None else numbers(lengths),
        batches=_listed(given["batch"], _whole("--batch")),
        dtypes=_listed(given["dtype"], str),
        threads=_listed(given["threads"], _whole("--threads")),
        modes=_listed(given["mode"], str),
        device=given["device"],
        rounds=given["rounds"],
        seed=given["seed"],
        budget=seconds(given["budget"], of="--budget"),
        enough=given["enough"],
    )


def _limits(given: dict[str, Any]) -> "Limits | None":
    from attncost.measure.sweep.isolated import Limits

    memory, deadline = given["memory"], given["deadline"]
    if not given["isolate"]:
        for name in _LIMITS:
            if given[name] is not None:
                raise ShapeError(
                    f"--{name} limits processes that cells have to themselves: add --isolate."
                )
        return None
    return Limits(
        memory=None if memory is None else _amount(memory),
        deadline=None if deadline is None else seconds(deadline, of="--deadline"),
    )


def _amount(text: str) -> int:
    from attncost.cost.planning.sizes import memory_of

    try:
        return memory_of(text)
    except UnknownName as error:
        raise ShapeError(
            f"--memory must be a size with its unit, such as 4GiB or 500MB, got {text!r:.60}."
        ) from error


def _differing(option: str, text: str | None) -> list[str] | None:
    found = names(text)
    for name in found or ():
        if found and found.count(name) > 1:
            raise ShapeError(f"--{option} must be names that differ, got {name} twice or more.")
    return found


def _listed(text: str, read: "Callable[[str], T]") -> tuple[T, ...]:
    return tuple(read(item.strip()) for item in text.split(","))


def _whole(option: str) -> "Callable[[str], int]":
    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal()):
            raise ShapeError(f"{option} must be whole numbers, as in 1,4, got {text!r}.")
        return int(text)

    return read
