"""Every `attncost` command in a page is one that the command line understands."""

import re
import shlex

import pytest
import typer.main
from tests.docs.pages import PAGES, ROOT

from attncost.cli import app

SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = [
    (str(page.relative_to(ROOT)), line)
    for page in PAGES
    for block in SHELL.findall(page.read_text())
    for line in block.splitlines()
    if line.removeprefix(".venv/bin/").startswith("attncost ")
]


def test_there_are_commands_to_check():
    assert len(COMMANDS) >= 5


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_a_command_in_a_page_is_understood(page, line):
    _, name, *arguments = shlex.split(line, comments=True)
    command = typer.main.get_command(app).commands[name]
    assert command.make_context(name, arguments).params
