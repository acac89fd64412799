"""A model on this machine, as two curves that a calibration foretells: to price batches by."""

import sys
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeAlias

import typer

from attncost.cli._progress import bar
from attncost.core import units

if TYPE_CHECKING:
    from attncost.batches.curves import Curves
    from attncost.measure.speed.calibration import Calibration
    from attncost.measure.sweep.visits import Progress

# Runs a model on so many sequences of a length.
_Run: TypeAlias = Callable[[int, int], object]

# Slots beyond which a call takes in proportion to them.
_SLOTS: Final = 1 << 14
# Whoever waits longer is told for what.
_PATIENCE_SECONDS: Final = 5.0


def foretold(model: str, known: "Calibration", *, longest: int) -> "Curves":
    """Return what calls of a model would take; it is run on fake tensors.

    Args:
        model: As it was typed.
        known: The machine.
        longest: Tokens of the longest text.

    Raises:
        AttnCostError: If the model cannot be run without numbers.
    """
    from attncost.integrations.weightless import remembered, weightless
    from attncost.measure.speed.curves import foretold_curves

    found = weightless(model)

    def run(batch: int, length: int) -> object:
        return remembered(found.call(length, batch=batch), name=found.name)

    with bar() as show:
        seen = watched(run, found.name, calls=calls(longest), show=show)
        return foretold_curves(seen, known, name=found.name, slots=_SLOTS, longest=longest)


def calls(longest: int) -> int:
    """Return how often a model is run for its curves.

    Args:
        longest: Tokens of the longest text.
    """
    from attncost.measure.speed.curves import Grid

    return Grid.of(longest=longest, slots=_SLOTS).calls


def watched(
    run: _Run,
    name: str,
    *,
    calls: int,
    show: "Callable[[Progress], None]",
    clock: Callable[[], float] = monotonic,
) -> _Run:
    """Return the same run that shows each call, and says once, where no bar is, that all take long.

    Args:
        run: What is called.
        name: Of the model.
        calls: How often it will be.
        show: Draws it.
        clock: Reads the seconds.
    """
    from attncost.measure.sweep.visits import Progress

    # Whoever sees the bar needs no line, which would be written into it.
    begun, done, told = clock(), 0, sys.stderr.isatty()

    def seen(batch: int, length: int) -> object:
        nonlocal done, told
        show(Progress(f"{name} on fake tensors, {batch:,} x {length:,}", done, calls))
        took = clock() - begun
        total = took / done * calls if done else took
        if not told and _PATIENCE_SECONDS < took < total - _PATIENCE_SECONDS:
            told = True
            typer.echo(
                f"attncost: {name} is run {calls} times on fake tensors to foretell its times, "
                f"which takes about {units.show(total, 'seconds')}.",
                err=True,
            )
        found, done = run(batch, length), done + 1
        return found

    return seen
