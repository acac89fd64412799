"""Every command has a page, and every argument and option stands on it with what `--help` says."""

import re
import sys
from importlib import import_module

import pytest
from tests.docs.commands import GROUP
from tests.docs.pages import ROOT

from attncost.cli import main


@pytest.fixture(scope="module")
def pages():
    """What MkDocs' hook imports."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return import_module("command_pages")
    finally:
        sys.path.remove(str(ROOT / "docs"))


@pytest.fixture(scope="module")
def made(pages):
    return {name: pages.Page(name).markdown for name in pages.names()}


def test_every_file_of_a_command_has_a_page(made):
    files = {path.stem for path in (ROOT / "src/attncost/cli").glob("[!_]*.py")}
    assert set(made) == files


@pytest.mark.parametrize("name", sorted(GROUP.commands))
def test_a_page_tells_what_help_tells(made, name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    assert main([name, "--help"]) == 0
    said, page = capsys.readouterr().out, made[name].replace("\\", "")
    for option in re.findall(r"^  (?:-\w, )?(--[\w-]+)", said, re.MULTILINE):
        assert f"`{option}`" in page or option == "--help"
    for meaning in re.findall(r"^  -.*?  +(\w.*?)(?:  \[.*)?$", said, re.MULTILINE):
        assert meaning in page or meaning.startswith("Show this message")
    for default in re.findall(r"\[default: (.+?)\]", said):
        assert f"`{default}`" in page


@pytest.mark.parametrize("name", sorted(GROUP.commands))
def test_a_page_has_an_example_and_every_exit_status(made, name):
    page = made[name]
    assert re.search(rf"^```sh\nattncost (?:{name} )?", page, re.MULTILINE)
    assert "For instance" not in page
    assert re.findall(r"^\| (\d+) \| \w", page, re.MULTILINE) == ["0", "1", "2", "130"]


def test_a_page_says_when_the_answer_is_no(made):
    for name, page in made.items():
        source = (ROOT / f"src/attncost/cli/{name}.py").read_text(encoding="utf-8")
        ends = re.search(r"typer\.Exit\(1\)|return (?:1\b|int\(|\w+\.failed)", source)
        assert ("The answer is no:" in page) or not ends, name


def test_what_a_command_says_is_shown_where_it_is_arithmetic(made):
    assert "NVIDIA H100" in made["plan"].split("It says:")[1]
    assert "It says:" not in made["measure"]


def test_the_overview_links_them_all(pages, made):
    overview = pages.overview(map(pages.Page, made))
    assert re.findall(r"\]\((\w+)\.md\)", overview) == list(made)
