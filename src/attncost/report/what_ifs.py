"""What if: one thing of a model's usual call is changed at a time, and what that costs.

Each row is a command: `attncost plan` at the same length, batch, kernel and precisions prints it.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

from attncost.core.errors import ShapeError
from attncost.core.units import show
from attncost.cost.configuration import Configuration
from attncost.cost.planning.needs import needs, total
from attncost.cost.planning.situation import Situation
from attncost.mechanisms.spelling import spelling
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window
from attncost.report.document import COMMAND, Chapter, Column, Finding, Section, Table
from attncost.report.priced import key, leading
from attncost.report.tried import flops_of

# GiB of the devices that people ask about.
MEMORIES: Final = (8, 24, 80)
GIB: Final = 1 << 30
_USUAL: Final = 8192
_TIMES: Final = (2, 4, 16)
_BATCHES: Final = (8, 32)
_NARROWER: Final = 8


@final
@dataclass(frozen=True, slots=True)
class _Call:
    """One call of a model, and what would be typed to plan it."""

    name: str
    model: Configuration
    length: int
    how: Situation = field(default_factory=Situation)
    batch: int = 1
    pattern: str = ""

    @property
    def bytes(self) -> int:
        """What one device holds."""
        return int(total(needs(self.model, self.how, length=self.length, batch=self.batch)))

    @property
    def flops(self) -> int:
        """FLOPs of the whole batch."""
        return self.batch * flops_of(self.model, self.how, self.length)

    @property
    def device(self) -> int | None:
        """GiB of the smallest device that holds it; None if none does."""
        return next((size for size in MEMORIES if self.bytes <= size * GIB), None)

    def command(self, *lengths: int) -> str:
        """Return what plans it, at other lengths if they are given."""
        usual, options = Situation(), {"--memory": f"{self.device or MEMORIES[-1]}GiB"}
        options["--for"] = self.how.work
        options["--lengths"] = ",".join(map(str, lengths or (self.length,)))
        options["--batch"] = str(self.batch)
        options["--kernel"] = self.how.kernel
        for name in ("weights", "kv", "activations"):
            if getattr(self.how, name) != getattr(usual, name):
                options[f"--{name}"] = getattr(self.how, name)
        if self.pattern:
            options["--pattern"] = self.pattern
        given = " ".join(f"{name} {shlex.quote(value)}" for name, value in options.items())
        flag = " --checkpointing" if self.how.checkpointing else ""
        return f"attncost plan {shlex.quote(self.name)} {given}{flag}"


def what_ifs(name: str, model: Configuration, *, length: int) -> Chapter:
    """Return what changes of one call cost.

    Args:
        name: The model as it is typed.
        model: Its sizes.
        length: Tokens of the call that is changed.
    """
    base = _Call(name, model, length)
    calls = {f"as it is: {length:,} tokens": base, **dict(_changes(base))}
    section = Section(
        title=f"What if: {model.name}",
        text=(
            f"One forward pass of one sequence of {length:,} tokens, everything in bfloat16, by a "
            "fused kernel; one thing changes at a time.",
        ),
        blocks=(
            Table(
                title=f"What if: changes of {model.name}",
                columns=(
                    Column("what if"),
                    Column("FLOPs", "flops"),
                    Column("of it", "times"),
                    Column("memory", "bytes"),
                    Column("of it", "times"),
                    Column("fits in"),
                    Column("command", COMMAND),
                ),
                rows=tuple(_row(what, call, base) for what, call in calls.items()),
                note=(
                    "Of it: of the same as it is. Fits in: the smallest of devices of "
                    f"{_listed()} that holds it. Weights and caches are exact, the rest is the "
                    "estimate of a plain implementation; another pattern is another model."
                ),
            ),
        ),
    )
    return Chapter(tuple(_finding(base)), section)


def usual_length(model: Configuration) -> int:
    """Return the tokens that a model is asked about, if nobody says otherwise."""
    return min(model.longest or _USUAL, _USUAL)


def readable(model: Configuration, pattern: Pattern) -> Configuration | None:
    """Return a model with another pattern; None if no layer can have it, or all have it."""
    try:
        found = model.reading(pattern)
    except ShapeError:  # latent attention and states have no other
        return None
    return None if found == model else found


def _changes(base: _Call) -> Iterator[tuple[str, _Call]]:
    """Give what is changed, in words."""
    model, how, n = base.model, base.how, base.length
    for times in _TIMES:
        if model.longest is None or times * n <= model.longest:
            yield f"{times} x the length", replace(base, length=times * n)
    for batch in _BATCHES:
        yield f"{batch} sequences", replace(base, batch=batch)
    if model.softmax_heads:
        yield "all weights of attention kept", _run(base, kernel="naive")
    yield (
        "everything in float32",
        _run(base, weights="float32", kv="float32", activations="float32"),
    )
    yield "weights in int4", _run(base, weights="int4")
    if model.cached(1):
        yield "keys and values in fp8", _run(base, kv="fp8")
    width = max(n // _NARROWER, 1)
    both = isinstance(model.attention, Full)
    window = Window(2 * (width // 2) + 1, ahead=width // 2) if both else Window(width)
    other = readable(model, window)
    if other:
        spelled = spelling(window)
        yield f"a {spelled}", replace(base, model=other, pattern=spelled)
    if model.head is None or not model.embedding.patch:
        yield "a step of training by AdamW", replace(base, how=replace(how, work="training"))
        checkpointed = replace(how, work="training", checkpointing=True)
        yield "the same with checkpointing", replace(base, how=checkpointed)


def _run(base: _Call, **changed: Any) -> _Call:  # noqa: ANN401 -- fields of a situation
    return replace(base, how=replace(base.how, **changed))


def _row(what: str, call: _Call, base: _Call) -> tuple[Any, ...]:
    return (
        what,
        call.flops,
        call.flops / base.flops,
        call.bytes,
        call.bytes / base.bytes,
        "none" if call.device is None else f"{call.device} GiB",
        call.command(),
    )


def _finding(base: _Call) -> Iterator[Finding]:
    """Say what twice the length costs, where there are positions for it."""
    model, n = base.model, base.length
    if model.longest is not None and 2 * n > model.longest:
        return
    twice = replace(base, length=2 * n)
    flops, held = twice.flops / base.flops, twice.bytes / base.bytes
    yield Finding(
        key=f"twice_{key(model)}",
        text=(
            f"{leading(model.name)}, twice {n:,} tokens: {show(flops, 'times')} the "
            f"FLOPs, {show(held, 'times')} the memory."
        ),
        values={"length": n, "flops": flops, "memory": held},
        command=twice.command(n, 2 * n),
    )


def _listed() -> str:
    *first, last = map(str, MEMORIES)
    return f"{', '.join(first)} and {last} GiB"
