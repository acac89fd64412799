"""A plan for a module that no formula describes: it is run, and what it holds is seen."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attncost.cli._magnitudes import tokens
from attncost.core.errors import AttnCostError, ShapeError

if TYPE_CHECKING:
    from attncost.cost.configuration import Work
    from attncost.cost.memory.footprint import Footprint
    from attncost.cost.memory.memory import MakeOptimizer
    from attncost.integrations.weightless import Weightless
    from attncost.report.ran import Ran

WORKS: Final[tuple["Work", ...]] = ("prefill", "training")


def runnable(text: str, reason: AttnCostError) -> "tuple[Weightless, str]":
    """Return a model whose sizes are not understood, and why it is run, in a sentence.

    Args:
        text: What names it.
        reason: Why its sizes are not understood.

    Raises:
        AttnCostError: If it cannot be run either.
    """
    from attncost.integrations.architecture import cached
    from attncost.integrations.sizes import is_function
    from attncost.integrations.weightless import weightless

    if is_function(text):
        found, why = weightless(text), "A function says no sizes, so that no formula was asked."
    elif Path(text).exists() or cached(text) is not None:
        # What there is besides, and what was perhaps meant, belongs to a refusal.
        why = f"No formula was asked: {re.split('[;.] ', str(reason))[0].rstrip('.')}."
        try:
            found = weightless(text)
        except AttnCostError:
            raise reason from None  # It says what was asked for.
    else:
        raise reason
    if found.usual is None:
        raise ShapeError(
            f"{text} returns inputs of its own sizes, so no length can be planned: give the "
            "function parameters of the names length and batch."
        )
    return found, why


def ran(model: "Weightless", given: dict[str, Any], *, memory: int) -> "tuple[Ran, ...]":
    """Run a model in search of what fits.

    Args:
        model: The model.
        given: The options as they were typed.
        memory: Bytes that there are.
    """
    from attncost.integrations.optimizers import optimizer
    from attncost.report.ran import Wanted, found

    length, batch = given["length"], given["batch"]
    others = [] if given["lengths"] is None else given["lengths"].split(",")
    wanted = Wanted(
        memory=memory,
        length=length and tokens(length, of="--length"),
        batch=batch,
        lengths=tuple(sorted({tokens(text, of="--lengths") for text in others})),
        start=model.usual or 1,
        longest=model.longest,
    )
    for one in (wanted.length, *wanted.lengths):
        model.sizes(one, batch)  # Refuses what it has no positions for.
    steps = optimizer(given["optimizer"])
    with _told() as tell:
        return tuple(
            found(work, _runner(model, work, steps, tell), wanted)
            for work in dict.fromkeys(given["works"] or WORKS)
        )


def _runner(
    model: "Weightless", work: "Work", steps: "MakeOptimizer", tell: Callable[[str], None]
) -> Callable[[int, int], "Footprint"]:
    from attncost.core.units import show
    from attncost.integrations.weightless import remembered

    training = work == "training"

    def run(length: int, batch: int) -> "Footprint":
        call = model.call(length, batch=batch)
        held = remembered(
            call, name=model.name, training=training, optimizer=steps if training else None
        )
        peak = show(held.peak, "bytes")
        tell(f"{work}: batch {batch:,} of {length:,} tokens holds {peak}")
        return held

    return run


@contextmanager
def _told() -> Iterator[Callable[[str], None]]:
    """Show the last run on a terminal, and nothing anywhere else: nobody knows how many come."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update
