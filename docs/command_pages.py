"""The page of a command, made from the command itself, and the overview of them all.

Arguments, options and defaults are those that the command line parses with. The example is the one
of `--help`; where its output is arithmetic, it is made when the site is built.
"""

import contextlib
import io
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Final, final
from unittest.mock import patch

import typer.main

from attncost import cli

_PAGES: Final = Path(__file__).parent
_FIRST: Final = "report"  # what a bare model means
# Commands that compute, and measure nothing: the same everywhere, and done in a second or two.
_EXACT: Final = ("count", "derive", "plan")
_EXAMPLE: Final = re.compile(
    r"For instance: (.*?)(?:, and from then on .*?)?(?:\n\n|\Z)", re.DOTALL
)
_STATUS: Final = re.compile(r"\b(?:exit(?: status)?|ends with) 1:? ([^.;,]*)", re.IGNORECASE)
_MOST_LINES: Final = 40


def names() -> tuple[str, ...]:
    """Return the commands, the main one first."""
    found = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]  # a group
    return tuple(sorted(found, key=lambda name: (name != _FIRST, name)))


@final
@dataclass(frozen=True)
class Page:
    """The page of a command."""

    name: str

    @cached_property
    def command(self) -> Any:  # noqa: ANN401 -- typer names no type for it
        """What the command line parses with."""
        return typer.main.get_command(cli.app).commands[self.name]  # type: ignore[attr-defined]  # a group

    @property
    def said(self) -> str:
        """What `--help` says, without the example."""
        return _EXAMPLE.sub("", self.command.help).strip()

    @property
    def summary(self) -> str:
        """The first sentence."""
        return " ".join(self.said.partition("\n\n")[0].split())

    @property
    def example(self) -> str:
        """The command that `--help` gives as an example."""
        found = _EXAMPLE.search(self.command.help)
        return " ".join(found[1].split()) if found else f"attncost {self.name}"

    @property
    def markdown(self) -> str:
        """The whole page."""
        return "\n\n".join(part for part in self._parts() if part)

    def _parts(self) -> Iterator[str]:
        yield f"# attncost {self.name}"
        yield self.said
        yield f"```sh\n{self.example}\n```"
        yield self._output()
        arguments = [one for one in self.command.params if one.param_type_name == "argument"]
        options = [one for one in self.command.params if one.param_type_name == "option"]
        if arguments:
            yield "## Arguments"
            yield _table(arguments)
        yield "## Options"
        yield _table(options)
        yield "## Exit status"
        yield self._statuses()
        yield "## More"
        yield self._more()

    def _output(self) -> str:
        if self.name not in _EXACT:
            return ""
        lines = output(self.example).splitlines()
        shown = lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], "…"]
        return "\n".join(("It says:", "", "```text", *shown, "```"))

    def _statuses(self) -> str:
        found = _STATUS.search(self.command.help)
        no = f"The answer is no: {' '.join(found[1].split())}." if found else "Not used here."
        return "\n".join(
            (
                "| status | when |",
                "|--:|:--|",
                "| 0 | It is done, or the answer is yes. |",
                f"| 1 | {no} |",
                "| 2 | The request is mistaken; one line on standard error says what to do. |",
                "| 130 | Ctrl-C. |",
            )
        )

    def _more(self) -> str:
        said = re.compile(rf"\battncost {self.name}\b")
        links = [
            f"- [{_title(page)}](../{page.relative_to(_PAGES).as_posix()})"
            for page in sorted(_PAGES.glob("**/*.md"))
            if said.search(page.read_text(encoding="utf-8"))
        ]
        return "\n".join(links) or "- [All commands](index.md)"


def overview(pages: Iterable[Page]) -> str:
    """Return the page of all commands."""
    rows = (f"| [`attncost {page.name}`]({page.name}.md) | {page.summary} |" for page in pages)
    return "\n".join(
        (
            "# Commands",
            "",
            f"`attncost MODEL` is `attncost {_FIRST} MODEL`. MODEL is `demo`, a layer "
            "(`layer:d_model=512,heads=8`), a folder or `config.json` of Hugging Face, a preset "
            "of published sizes (`llama-3-8b`) or `package.module:factory`. Every command takes "
            "`--help`, and `--json`, whose output has a field `schema`.",
            "",
            "| command | what it does |",
            "|:--|:--|",
            *rows,
        )
    )


def output(example: str) -> str:
    """Return what a command prints on 80 columns."""
    said = io.StringIO()
    width = patch.dict(os.environ, COLUMNS="80")
    with width, contextlib.redirect_stdout(said):
        status = cli.main(shlex.split(example)[1:])
    if status not in (0, 1):
        raise RuntimeError(f"docs/command_pages.py: {example!r} ends with {status}.")
    return "\n".join(line.rstrip() for line in said.getvalue().splitlines())


def _table(params: Iterable[Any]) -> str:
    rows = (
        f"| {_spelled(one)} | {_kind(one)} | {_default(one)} | {_escaped(one.help or '')} |"
        for one in params
    )
    return "\n".join(("| | value | if left out | meaning |", "|:--|:--|:--|:--|", *rows))


def _spelled(one: Any) -> str:  # noqa: ANN401 -- a parameter of typer
    return ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))


def _kind(one: Any) -> str:  # noqa: ANN401 -- a parameter of typer
    """Return what a value is; a flag has none."""
    if getattr(one, "is_flag", False):
        return ""
    kind = one.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(f"`{choice.value}`" for choice in kind)
    inner = getattr(kind, "__args__", (kind,))[0]
    many = ", again and again" if one.multiple or one.nargs != 1 else ""
    return _WORDS[inner.__name__] + many


_WORDS: Final = {"str": "text", "int": "whole number", "float": "number", "Path": "path"}


def _default(one: Any) -> str:  # noqa: ANN401 -- a parameter of typer
    if one.required:
        return "needed"
    if one.default is None or one.default is False:
        return ""
    return f"`{one.default.value if isinstance(one.default, Enum) else one.default}`"


def _escaped(text: str) -> str:
    return text.replace("|", r"\|").replace("*", r"\*").replace("_", r"\_")


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
