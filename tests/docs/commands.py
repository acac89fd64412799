"""The `attncost` commands of all pages, and how those are run whose words stand for something."""

import re
import shlex
from typing import Any

import typer.main
from tests.docs.pages import PAGES, ROOT, parsed
from typer import TyperException

from attncost.cli import app

GROUP: Any = typer.main.get_command(app)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(attncost (?:[\w-][^`\n]*))`")
NOVEL = "examples/data/pride_and_prejudice.txt"
# What a word of a page stands for.
STANDS_FOR = {
    "MODEL": "layer:d_model=64,heads=2",
    "[MODEL]": "layer:d_model=64,heads=2",
    "[OTHER]": "layer:d_model=64,heads=4",
    "[PATTERN]": "window:width=8",
    "FOLDER": "model",
    "FILE": NOVEL,
    "TASK": "recall",
    "RUN": "runs/layer",
    "book.txt": NOVEL,
    "mail.txt": NOVEL,
}
# What makes a command quick: options of it, in the place of those that it has.
LESS = {
    "measure": {"--lengths": "64,128", "--rounds": "1", "--budget": "5s"},
    "profile": {"--length": "16", "--rounds": "1"},
}
# What measures a machine, trains or starts processes for long, or shows a server until it is
# stopped; and the tests that run the same command on something small.
ELSEWHERE = {
    r"attncost calculator": "tests/cli/test_calculator.py",
    r"attncost doctor": "tests/cli/test_doctor.py",
    r"attncost maps": "tests/cli/test_maps.py",
    r"attncost measure .*--calibrate": "tests/cli/test_calibration.py",
    r"attncost plan .*--measure": "tests/cli/test_trial.py",
    r"attncost plan \S+$": "tests/cli/test_plan_mistakes.py",  # it asks for --memory
    r"attncost plan .*--time": "tests/cli/test_plan_time.py",
    r"attncost profile demo": "tests/cli/test_profile.py",
    r"attncost quality (demo|layer)": "tests/cli/test_quality_model.py",
    r"attncost quality \w+": "tests/cli/test_quality.py",
    r"attncost report|attncost (?!\w+ )(layer|demo)": "tests/cli/test_report.py",
}
# The answer is no: the page says that it does not fit.
NO: tuple[str, ...] = ()


def in_blocks():
    """Return the lines of shell blocks, by page."""
    return [
        (str(page.relative_to(ROOT)), line.removeprefix(".venv/bin/"))
        for page in PAGES
        for block in SHELL.findall(page.read_text(encoding="utf-8"))
        for line in block.splitlines()
        if line.removeprefix(".venv/bin/").startswith("attncost ")
    ]


def in_sentences():
    """Return the commands between backquotes, by page."""
    return [
        (str(page.relative_to(ROOT)), command)
        for page in PAGES
        for command in INLINE.findall(page.read_text(encoding="utf-8"))
    ]


def spoken(command):
    """Return the words of a command with what they stand for; a file to be written is new."""
    words = shlex.split(command, comments=True)
    before = ["", *words]
    return [
        "made.csv" if (last, word) == ("-o", "FILE") else STANDS_FOR.get(word, word)
        for last, word in zip(before, words, strict=False)
    ]


def whole(words):
    """Say whether a sentence asks to run something, and does not only name an option."""
    _, name, *arguments = words
    if "--help" in words or name not in GROUP.commands:
        return True
    try:
        GROUP.commands[name].make_context(name, list(arguments))
    except TyperException:
        return False
    return bool(arguments) and not arguments[0].startswith("-")


def to_run():
    """Return every distinct command that is run here, in the order of the pages."""
    found = {}
    for _, command in in_blocks():
        found.setdefault(shlex.join(spoken(command)))
    for _, command in in_sentences():
        if whole(spoken(command)):
            found.setdefault(shlex.join(spoken(command)))
    return [line for line in found if not any(re.match(one, line) for one in ELSEWHERE)]


def shortened(line):
    """Return a command with less to do."""
    _, *words = shlex.split(line)
    less = {} if "--resume" in words else LESS.get(words[0], {})
    for option in less.keys() & set(words):
        at = words.index(option)
        del words[at : at + 2]
    return [*words, *(word for pair in less.items() for word in pair)]


def sources():
    """Return the modules that pages write and then name in a command."""
    blocks = "\n".join(str(block.parsed) for block in parsed(ROOT / "docs/use/profiling.md"))
    return {"mixing.py": blocks}
