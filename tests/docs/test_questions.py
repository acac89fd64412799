"""The page of questions: every answer is what its command says."""

import re
import shlex

import pytest
from tests.docs.pages import ROOT

from attncost.cli import main

ASKED = re.compile(
    r"^## (.+?)$.*?^```sh\n(.+?)\n```$\n\n(It says|Measured):\n\n```text\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
ANSWERS = ASKED.findall((ROOT / "docs/questions.md").read_text())
COMPUTED = [(command, output) for _, command, how, output in ANSWERS if how == "It says"]


def test_every_question_has_one_command_and_an_output():
    titles = re.findall(r"^## .+$", (ROOT / "docs/questions.md").read_text(), re.MULTILINE)
    assert len(titles) == len(ANSWERS) == 17
    assert all(output.strip() for *_, output in ANSWERS)
    assert len(COMPUTED) >= 9


@pytest.mark.parametrize(("command", "output"), COMPUTED, ids=[one for one, _ in COMPUTED])
def test_what_is_computed_is_what_the_command_says(command, output, capsys, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) in (0, 1)
    said = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    start = 0
    for line in output.splitlines():
        if line != "…":
            assert line in said[start:], line
            start = said.index(line, start) + 1
