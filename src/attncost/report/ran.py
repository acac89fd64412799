"""The document of a plan for which a module was run, and no formula asked."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, final

from attncost.core.units import show
from attncost.cost.configuration import Work
from attncost.cost.memory.footprint import PARTS, Footprint
from attncost.integrations.fitting import Fitting, greatest
from attncost.report.document import Column, Document, Finding, Section, Table
from attncost.report.fitting import blamed
from attncost.report.remembered import by_part, least, memory_facts, moment

_SCHEMA: Final = "attncost.plan/1"
_HOW: Final = (
    "The module itself was called with tensors that have sizes and no numbers, in the precision "
    "that it is made in, as a CPU would run it; what fits was run, and the next size, too."
)
_LEFT_OUT: Final = "Left out: what a driver and libraries take, what an allocator wastes."


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What is to be found out.

    Attributes:
        memory: Bytes of one device.
        length: Tokens of each sequence, if the batch is asked for.
        batch: Sequences, if the length is asked for; with both, whether they fit.
        lengths: What else to try.
        start: Where to begin to look for a length.
        longest: Tokens that the model has positions for, if they have an end.
    """

    memory: int
    length: int | None = None
    batch: int | None = None
    lengths: tuple[int, ...] = ()
    start: int = 1
    longest: int | None = None


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """One work of a module, as it was run.

    Attributes:
        work: `prefill`, a forward pass, or `training`, with a backward pass and a step.
        length: Tokens, if they were asked for.
        batch: Sequences, if they were asked for.
        held: What is held at the sizes that were asked for, or at the greatest that fit.
        fitting: The greatest that fit; None if both sizes were asked for.
        tried: What other lengths hold.
    """

    work: Work
    length: int | None
    batch: int | None
    held: Footprint
    fitting: Fitting | None
    tried: Mapping[int, Footprint]

    def answer(self, memory: int) -> bool:
        """Say whether what was asked for fits: the sizes that were given, or anything at all."""
        if self.fitting is None:
            return self.held.peak <= memory
        return self.fitting.greatest != 0


def found(work: Work, run: Callable[[int, int], Footprint], wanted: Wanted) -> Ran:
    """Run a module until it is known what was to be found out.

    Args:
        work: What it does.
        run: Returns what a length and a batch hold.
        wanted: What is to be found out.
    """
    length, batch, memory = wanted.length, wanted.batch, wanted.memory
    fitting = None
    if length is None:
        fitting = greatest(
            lambda n: run(n, batch or 1), memory=memory, start=wanted.start, most=wanted.longest
        )
    elif batch is None:
        fitting = greatest(lambda size: run(length, size), memory=memory, start=1)
    return Ran(
        work=work,
        length=length,
        batch=batch,
        held=run(length or 1, batch or 1) if fitting is None else fitting.held,
        fitting=fitting,
        tried={n: run(n, batch or 1) for n in wanted.lengths},
    )


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """A plan that was run.

    Attributes:
        name: The model as it was typed.
        why: Why no formula was asked.
        memory: Bytes of one device.
        device: What the device is called, if it has a name.
        optimizer: What training updates parameters with.
        works: What was run.
        command: What reproduces it.
    """

    name: str
    why: str
    memory: int
    device: str = ""
    optimizer: str
    works: tuple[Ran, ...]
    command: str


def ran_document(trial: Trial) -> Document:
    """Return what fits."""
    device = f"{trial.device}; " if trial.device else ""
    return Document(
        schema=_SCHEMA,
        title=f"What fits of {trial.name} in {show(trial.memory, 'bytes')}",
        subtitle=f"{device}run without numbers; training by {trial.optimizer}",
        command=trial.command,
        findings=tuple(_finding(trial, one) for one in trial.works),
        sections=(
            *(_section(trial, one) for one in trial.works),
            *(_tried(trial, one) for one in trial.works if one.tried),
            Section(title="What is counted", text=(trial.why, _HOW, _LEFT_OUT)),
        ),
        facts={
            "model": trial.name,
            "memory": trial.memory,
            "device": trial.device or None,
            "plans": [_facts(trial, one) for one in trial.works],
        },
    )


def _finding(trial: Trial, one: Ran) -> Finding:
    said = _verdict(trial, one) if one.fitting is None else _largest(trial, one, one.fitting)
    return Finding(
        key=one.work,
        text=f"{one.work}: {said}",
        values={
            "length": one.length,
            "batch": one.batch,
            "greatest": one.fitting and one.fitting.greatest,
            "bytes": one.held.peak,
        },
        command=trial.command,
    )


def _verdict(trial: Trial, one: Ran) -> str:
    memory, held = show(trial.memory, "bytes"), _bytes(one.held)
    what = f"batch {one.batch:,} of {one.length:,} tokens"
    if one.answer(trial.memory):
        return f"{what} fits: {held} of {memory}."
    return f"{what} does not fit: {held}, there are {memory}; {_most(one.held)}."


def _largest(trial: Trial, one: Ran, fit: Fitting) -> str:
    what = "tokens" if one.length is None else f"sequences of {one.length:,} tokens"
    at = f" at batch {one.batch or 1:,}" if one.length is None else ""
    if fit.greatest is None:
        counted = what.partition(" ")[0]
        return f"memory does not grow with the {counted}: no notice is taken of them."
    if not fit.greatest:
        nothing = f"not even {_smallest(one, fit)} fits{at}"
        memory = show(trial.memory, "bytes")
        return f"{nothing}: {_bytes(fit.held)}, there are {memory}; {_most(fit.held)}."
    if fit.limit == "positions":
        return f"all {fit.greatest:,} tokens that it has positions for fit{at}."
    bound = "" if fit.held.exact else "at most "
    some = f"{bound}{_counted(fit.greatest, what)}{at}"
    more = "one more" if fit.step == 1 else f"{fit.step:,} more"
    if fit.limit == "itself":
        return f"{some}; of {more} the module says: {fit.refusal.rstrip('.')}."
    return f"{some}; {more} {_do(fit)}: {blamed(fit.limit)} in the way."


def _counted(size: int, what: str) -> str:
    """Say that so many fit.

    >>> _counted(1, "sequences of 8 tokens")
    '1 sequence of 8 tokens fits'
    """
    if size == 1:
        kind, *rest = what.split()
        return " ".join(("1", kind.removesuffix("s"), *rest, "fits"))
    return f"{size:,} {what} fit"


def _do(fit: Fitting) -> str:
    return "does not" if fit.step == 1 else "do not (it takes multiples of that)"


def _smallest(one: Ran, fit: Fitting) -> str:
    if one.length is not None:
        return f"one sequence of {one.length:,} tokens"
    return "one token" if fit.step == 1 else f"{fit.step:,} tokens"


def _most(held: Footprint) -> str:
    part = max(PARTS, key=lambda part: held.by_part[part])
    return f"{blamed(part)} the largest part"


def _bytes(held: Footprint) -> str:
    return f"{least(held)}{show(held.peak, 'bytes')}"


def _section(trial: Trial, one: Ran) -> Section:
    return Section(
        title=f"Where the memory goes: {one.work}",
        text=(f"{_sizes(one)}.", *moment(one.held)),
        blocks=(by_part(one.held, title=f"Memory of {one.work} by part", command=trial.command),),
    )


def _sizes(one: Ran) -> str:
    found = one.fitting.greatest if one.fitting else None
    if one.fitting is not None and not found:
        return "The smallest that was run"
    length = one.length or found
    batch = one.batch or (found if one.length else 1)
    return f"Batch {batch:,} of {length:,} tokens"


def _tried(trial: Trial, one: Ran) -> Section:
    rows = (
        (n, held.peak, "yes" if held.peak <= trial.memory else "no", "" if held.exact else "≥")
        for n, held in one.tried.items()
    )
    table = Table(
        title=f"What if: {one.work}, batch {one.batch or 1:,}",
        columns=(
            Column("tokens", "tokens"),
            Column("memory", "bytes"),
            Column("fits"),
            Column("bound"),
        ),
        rows=tuple(rows),
        note="Bound: ≥ where more may be held than is known.",
        command=trial.command,
    )
    return Section(title=f"What if: {one.work}", blocks=(table,))


def _facts(trial: Trial, one: Ran) -> dict[str, Any]:
    size = "longest" if one.length is None else "largest_batch"
    return {
        "work": one.work,
        "length": one.length,
        "batch": one.batch or (1 if one.length is None else None),
        "optimizer": trial.optimizer if one.work == "training" else None,
        "fits": one.answer(trial.memory),
        "held": memory_facts(one.held),
        **({} if one.fitting is None else {size: asdict(one.fitting)}),
        "tried": {str(n): memory_facts(held) for n, held in one.tried.items()},
    }
