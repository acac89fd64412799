"""What a terminal shows of long work: a bar, and whom it waits for."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from attncost.measure.sweep.visits import Progress

_REDRAW_SECONDS: Final = 0.2


@contextmanager
def held(device: str) -> Iterator[None]:
    """Have a device to oneself, and say so while it must be waited for."""
    from attncost.measure.sweep.lock import machine_lock

    with machine_lock(device, tell=lambda words: typer.echo(f"attncost: {words}", err=True)):
        yield


@contextmanager
def bar() -> "Iterator[Callable[[Progress], None]]":
    """Show progress on a terminal, and nothing anywhere else."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(12), TimeRemainingColumn())
    # A thread that redraws would be charged to the CPU time of this process: draw between cells.
    with Bar(*columns, console=Console(stderr=True), auto_refresh=False, transient=True) as drawing:
        task, drawn = drawing.add_task("", total=None), 0.0

        def show(progress: "Progress") -> None:
            nonlocal drawn
            if monotonic() - drawn < _REDRAW_SECONDS:
                return
            drawing.update(
                task, description=progress.doing, completed=progress.done, total=progress.total
            )
            drawing.refresh()
            drawn = monotonic()

        yield show
