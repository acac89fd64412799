"""What all commands share: names, exit status, one line for a mistake."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from attncost import cli
from attncost.cli import main

COMMANDS = sorted(p.stem for p in Path(cli.__file__).parent.glob("[!_]*.py"))


def test_commands_are_found():
    assert {"doctor", "export", "fit", "measure", "plan", "profile", "report"} <= set(COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["deriv"], "no command is called 'deriv'; did you mean 'derive'?"),
        (["dmo"], "no model, folder or preset is called 'dmo'; did you mean 'demo'?"),
        (["no/such/folder"], "no model, folder or preset is called 'no/such/folder'"),
        (["layer:d_model=x"], "d_model of layer must be a whole number"),
    ],
)
def test_a_name_of_nothing_is_answered_in_one_line(arguments, reason, capsys):
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("attncost: ")
    assert reason in line


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_listed_and_shows_an_example(command, capsys):
    assert main(["--help"]) == 0
    assert command in capsys.readouterr().out
    assert main([command, "--help"]) == 0
    assert f"attncost {command}" in " ".join(capsys.readouterr().out.split())


def test_no_argument_shows_the_help():
    finished = subprocess.run(
        [sys.executable, "-c", "from attncost.cli import main; raise SystemExit(main([]))"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Usage" in finished.stdout + finished.stderr


def test_ctrl_c_ends_any_command_with_one_line(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("attncost.cost.derivation.derive", interrupted)
    assert main(["derive", "full"]) == 130
    assert capsys.readouterr().err == "attncost: interrupted.\n"


def test_the_version_is_that_of_the_package(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"attncost {version('attncost')}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_is_full_is_explained_in_one_line():
    with Path("/dev/full").open("w") as full:
        finished = started(["derive", "full"], stdout=full)
    assert finished.returncode == 2
    assert finished.stderr == "attncost: the output cannot be written: No space left on device.\n"


def test_a_terminal_that_lacks_a_character_gets_another_one():
    finished = started(["derive", "full"], stdout=subprocess.PIPE, PYTHONIOENCODING="latin1")
    assert finished.returncode == 0
    assert "4·n²·d" in finished.stdout
    assert "?" in finished.stdout, "latin1 has no line to draw a rule with"


def started(arguments, *, stdout, **environment):
    code = "from attncost.cli import main; raise SystemExit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        encoding="latin1",
        env=os.environ | environment,
        check=False,
    )
