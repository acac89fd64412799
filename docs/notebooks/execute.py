"""Execute the notebooks of this folder and write their outputs into them.

    .venv/bin/python docs/notebooks/execute.py [NAME ...]

Notebooks are committed with outputs, so that the site builds without running them. Edit the English
one, in Jupyter for instance; it is executed here in an empty folder, and its code and outputs go
into the Chinese one, whose text stays. The suite executes all of them and compares what they show.
A cell with the tag `measured` shows one run of one machine: the suite runs it and compares nothing.
One honest limitation: pictures count as equal only to the last digit.
"""

import sys
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Final

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

FOLDER: Final = Path(__file__).parent
LANGUAGES: Final = ("en", "zh")
_SECONDS: Final = 120


def names() -> list[str]:
    """Return the names of the notebooks, without their languages."""
    return sorted(path.name.removesuffix(".en.ipynb") for path in FOLDER.glob("*.en.ipynb"))


def read(name: str, language: str) -> NotebookNode:
    """Read a notebook as it is committed."""
    path = FOLDER / f"{name}.{language}.ipynb"
    found: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return found


def code_of(notebook: NotebookNode) -> list[NotebookNode]:
    """Return its cells of code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def execute(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Run a notebook in a new process, and return it with what this run shows."""
    fresh = deepcopy(notebook)
    for cell in code_of(fresh):
        cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        fresh,
        timeout=_SECONDS,
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
    )
    return client.execute()


def main(wanted: list[str]) -> None:
    """Execute the notebooks of these names, or all."""
    for name in wanted or names():
        with tempfile.TemporaryDirectory() as folder:
            done = code_of(execute(read(name, LANGUAGES[0]), Path(folder)))
        for language in LANGUAGES:
            notebook = read(name, language)
            if len(code_of(notebook)) != len(done):
                raise SystemExit(f"{name}.{language}.ipynb must have {len(done)} cells of code.")
            fresh = iter(done)
            notebook.cells = [
                next(fresh) if cell.cell_type == "code" else cell for cell in notebook.cells
            ]
            path = FOLDER / f"{name}.{language}.ipynb"
            nbformat.write(notebook, path)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main(sys.argv[1:])
