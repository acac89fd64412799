"""`attncost check`: the gate that breaks when a model's cost is no longer what was committed."""

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncost.cli._command import changed, command
from attncost.cli._model import subject
from attncost.cli._printed import shown
from attncost.core.errors import AttnCostError, ShapeError, StorageError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attncost.cost.lock import Locked
    from attncost.integrations.weightless import Weightless
    from attncost.report.document import Document
    from attncost.report.subject import Subject

_LOCK = Path("cost.lock")


def check(
    model: Annotated[
        str, typer.Argument(help="demo, a layer, a folder, a preset, package.module:factory")
    ],
    lock: Annotated[Path, typer.Option(help="the committed counts")] = _LOCK,
    write: Annotated[bool, typer.Option("--write", help="lock what is counted now")] = False,
    length: Annotated[
        int | None, typer.Option(help="tokens; as locked, or the model's usual, if left out")
    ] = None,
    batch: Annotated[int | None, typer.Option(help="sequences; as locked, or 1")] = None,
    training: Annotated[
        bool | None,
        typer.Option("--training/--forward", help="with the backward pass or not; as locked"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> int:
    """Compare what a model costs with a committed cost.lock; exit 1 if it changed.

    For instance: attncost check package.model:make --write, and from then on without --write

    Compared are exact counts, module by module, and never times.
    """
    wishes = {"length": length, "batch": batch, "training": training}
    with _no_verdict():
        document, equal = _checked(model, lock, wishes, write=write)
    _print(document, as_json=as_json)
    return 0 if equal else 1


@contextmanager
def _no_verdict() -> "Iterator[None]":
    """Keep a defect of ours from ending with the status that says "changed".

    Raises:
        AttnCostError: In its place.
    """
    try:
        yield
    except (AttnCostError, OSError):
        raise
    except Exception as error:
        import traceback

        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise AttnCostError(
            f"nothing was compared: {type(error).__name__} in {Path(frame.filename).name}:"
            f"{frame.lineno} ({error}), which is a defect of attncost; please report it."
        ) from error


def _checked(
    model: str, lock: Path, wishes: "dict[str, int | bool | None]", *, write: bool
) -> "tuple[Document, bool]":
    """Count, and write or compare; return what to say, and whether all is well."""
    from attncost.cost.lock import compare
    from attncost.cost.lock_file import write_lock
    from attncost.integrations.weightless import weightless
    from attncost.report.differing import check_document
    from attncost.report.unseen import unseen, unseen_facts

    known = _known(lock, model, write=write)
    target = weightless(model)
    kept = known.get(target.name)
    if kept is None and not write:
        raise UnknownName(f"model in {lock}", target.name, known)
    setting = _setting(target, wishes, kept, write=write, lock=lock)
    options = {"lock": lock, **(wishes if write else {})}
    again = command("check", [model], changed(check, options))
    now = subject(target, **setting, command=again)
    counted = _locked(target, now)
    verdict = compare(counted if write or kept is None else kept, counted)
    document = check_document(
        now, counted if kept is None else kept, verdict, lock=str(lock), command=again
    )
    facts = {**document.facts, **unseen_facts(verdict), "written": write}
    document = replace(document, sections=unseen(verdict) + document.sections, facts=facts)
    if write:
        write_lock(lock, {**known, target.name: counted})
        document = replace(document, title=f"{lock}: {target.name} is locked, {now.sizes}.")
    return document, verdict.equal


def _print(document: "Document", *, as_json: bool) -> None:
    from attncost.report.plain import dumped
    from attncost.report.text import text

    brief = not document.sections and not document.subtitle
    words = document.title if brief else text(document)
    typer.echo(shown(dumped(document) if as_json else words))


def _known(lock: Path, model: str, *, write: bool) -> "dict[str, Locked]":
    """Read the lock before anything long begins."""
    from attncost.cost.lock_file import read_lock

    if lock.exists():
        return read_lock(lock)
    if not write:
        there = command("check", [model], {"lock": lock if lock != _LOCK else None, "write": True})
        raise StorageError(f"{lock} does not exist: write it with `{there}`, and commit it.")
    return {}


def _setting(
    target: "Weightless",
    wishes: "dict[str, int | bool | None]",
    kept: "Locked | None",
    *,
    write: bool,
    lock: Path,
) -> "dict[str, Any]":
    """Return length, batch and direction: those asked for, as locked, or as usual."""
    usual = {"length": target.usual, "batch": None if target.usual is None else 1}
    found = {**usual, "training": False, **(kept.setting if kept else {})}
    for name, wish in wishes.items():
        if wish is not None and not write and wish != found[name]:
            raise ShapeError(
                f"{target.name} is locked in {lock} with {name} = {found[name]}, got {wish}: leave "
                "it out, or add --write."
            )
    return found | {name: wish for name, wish in wishes.items() if wish is not None}


def _locked(target: "Weightless", now: "Subject") -> "Locked":
    import sys
    from importlib.metadata import version

    from attncost.cost.lock import locked

    setting = {"length": now.length, "batch": now.batch, "training": now.training}
    names = [name for name in ("attncost", "torch", "transformers") if name in sys.modules]
    kept = locked(
        now.counted,
        now.owned,
        setting={name: value for name, value in setting.items() if value is not None},
        versions={name: version(name) for name in names},
        kv_bytes_per_token=target.kv_bytes_per_token(),
    )
    return replace(kept, settings=target.settings)
