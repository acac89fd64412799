"""The measurements that a report shows: those of a run, or new ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attncost.cli._command import command
from attncost.cli._lists import numbers
from attncost.cli._sweep import fresh_run, swept
from attncost.core.errors import ShapeError

if TYPE_CHECKING:
    from attncost.measure.subjects.target import Target
    from attncost.report.document import Attachment
    from attncost.report.timing import Timing

_ROUNDS: Final = 15
_SECONDS: Final = 45.0


def taken(run: Path, chosen: "Target") -> "Timing":
    """Read a run, if it is of the same model."""
    from attncost.measure.store.store import read
    from attncost.report.timing import Timing

    facts, samples = read(run)
    if facts.get("model") != chosen.name:
        raise ShapeError(
            f"{run} is a run of {facts.get('model', 'an unnamed model')}, not of {chosen.name}: "
            "give the report the model that was measured."
        )
    if all(one.warmup for one in samples):
        raise ShapeError(f"{run} has no sample but those of warming up: attncost measure --resume.")
    return Timing.of(str(run), facts, samples)


def samples_of(run: str) -> "tuple[Attachment, ...]":
    """Return the samples of a run for a page to carry."""
    from attncost.report.document import Attachment

    file = Path(run) / "samples.jsonl"
    return (Attachment(f"Every sample of {run}", file.name, file.read_bytes()),)


def timed(chosen: "Target", how: dict[str, Any]) -> "Timing":
    """Measure a model anew.

    Args:
        chosen: The model.
        how: Lengths, rounds and budget as they were typed; None for what is usual.
    """
    from attncost.measure.subjects.lengths import octaves
    from attncost.measure.sweep.plan import Plan
    from attncost.measure.sweep.task import Named, Task
    from attncost.report.measured import ended
    from attncost.report.timing import Timing

    given = how["lengths"]
    plan = Plan(
        lengths=numbers(given) if given else octaves(chosen.lengths),
        rounds=_ROUNDS if how["rounds"] is None else how["rounds"],
        budget=_SECONDS if how["budget"] is None else how["budget"],
    )
    if len(plan.lengths) < 2:
        raise ShapeError(f"a report needs two or more lengths, got {plan.lengths[0]}.")
    # A layer is measured with one matrix for q, k and v; `attncost measure` has both ways.
    qkv = ("fused",) if chosen.sizes and not chosen.folder else None
    wishes = {
        "lengths": ",".join(map(str, plan.lengths)),
        "qkv": qkv and qkv[0],
        "rounds": plan.rounds,
        "budget": plan.budget,
    }
    facts = {"model": chosen.name, "command": command("measure", [chosen.name], wishes)}
    if not given and chosen.note:
        facts["note"] = chosen.note
    task = Task(named=Named(model=chosen.name, qkv=qkv), plan=plan)
    found = swept(task, fresh_run(), facts=facts)
    notes = list(found.environment["notes"])
    if found.outcome.ended == "budget":
        notes.append(ended(found.outcome, found.environment))
    return Timing.of(str(found.path), {**found.environment, "notes": notes}, found.samples)
