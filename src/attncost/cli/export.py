"""`attncost export`: a run as a table for other tools."""

import json
from pathlib import Path
from typing import Annotated

import typer

from attncost.cli._printed import shown


def export(
    run: Annotated[Path, typer.Argument(help="the folder of a run")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="the table, which ends with .csv or .parquet")
    ],
    force: Annotated[
        bool, typer.Option("--force", help="replace the table if it is there")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Write the samples of a run as a table.

    For instance: attncost export attncost-run-20261130-104137 -o samples.csv

    One row a sample, those of the warm-up too, which are marked. Labels are columns label_...,
    what times depend on are columns environment_... Cells that were skipped are named here.
    """
    from attncost.measure.store.export import export as exported
    from attncost.measure.store.reading import FILE, rows

    found = rows(run.parent if run.name == FILE else run)
    written = exported(found, output, force=force)
    if as_json:
        facts = {
            "run": str(run),
            "file": str(written.file),
            "format": written.format,
            "rows": written.rows,
            "columns": written.columns,
            "notes": found.notes,
        }
        typer.echo(json.dumps({"schema": "attncost.export/1", **facts}, indent=2))
        return
    typer.echo(shown(f"{written.file}: {written.rows:,} samples, {len(written.columns)} columns."))
    for note in found.notes:
        typer.echo(shown(f"Note: {note}"))
