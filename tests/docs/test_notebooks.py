"""Every notebook runs where there is nothing but the package, and shows what it was committed with.

The two languages of a notebook share their code and outputs to the last character. Cells with the
tag `measured` show one run of one machine: they run here, and what they show is not compared.
"""

import importlib.util
import json
import re
from html import unescape
from types import SimpleNamespace

import pytest
from tests.docs.pages import ROOT

FOLDER = ROOT / "docs/notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
NAMES = sorted({path.name.split(".")[0] for path in PATHS})
FEWEST = 4
MOST_BYTES = 300_000
# What a path of some machine, a link to another host and an escape sequence look like.
FOREIGN = re.compile(r"/(?:home|root|tmp|usr|work|Users)/|0x[0-9a-f]{6,}|\x1b")
CODE = re.compile(r"`[^`]+`")
NUMBER = re.compile(r"\d[\d,.]*\d")


def loaded(path):
    """Import a file of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells(path, kind):
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


def measured(cell):
    return "measured" in cell["metadata"].get("tags", ())


def shown(cell):
    """Return what a reader sees of a cell: its printed text, and the labels of its pictures."""
    data = [output.get("data", {}) for output in cell["outputs"]]
    texts = ["".join(output.get("text", "")) for output in cell["outputs"]]
    pictures = ["".join(one["image/svg+xml"]) for one in data if one]
    return "".join(texts), pictures


def numbers(text):
    """Return all of two digits or more: a language may spell smaller ones."""
    return sorted(NUMBER.findall(text))


def both(name):
    return [FOLDER / f"{name}.{language}.ipynb" for language in ("en", "zh")]


def test_there_are_two_notebooks_in_two_languages():
    assert len(PATHS) >= FEWEST
    assert sorted(path for name in NAMES for path in both(name)) == PATHS


@pytest.mark.slow  # an interpreter and torch are started for each, as for a reader
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_run_in_an_empty_folder_shows_what_it_was_committed_with(path, tmp_path):
    execute = loaded(FOLDER / "execute.py")
    name, language, _ = path.name.split(".")
    done = execute.execute(execute.read(name, language), tmp_path)
    assert not list(tmp_path.iterdir())
    for cell, committed in zip(execute.code_of(done), cells(path, "code"), strict=True):
        assert {one.get("name") for one in cell.outputs} <= {None, "stdout"}, cell.source
        if not measured(committed):
            assert shown(cell) == shown(committed), cell.source


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_have_the_same_code_and_outputs_at_the_same_places(name):
    english, chinese = (json.loads(path.read_text(encoding="utf-8")) for path in both(name))
    kinds = [[cell["cell_type"] for cell in one["cells"]] for one in (english, chinese)]
    assert kinds[0] == kinds[1]
    code = [cells(path, "code") for path in both(name)]
    assert code[0] == code[1]
    assert all(cell["execution_count"] for cell in code[0])


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_say_the_same_numbers_code_words_and_sections(name):
    english, chinese = (
        ["".join(cell["source"]) for cell in cells(path, "markdown")] for path in both(name)
    )
    for one, other in zip(english, chinese, strict=True):
        assert sorted(CODE.findall(one)) == sorted(CODE.findall(other))
        assert re.findall(r"^#+", one, re.MULTILINE) == re.findall(r"^#+", other, re.MULTILINE)
        assert one.count("\n|") == other.count("\n|")
        assert len(re.findall(r"\*\*", one)) == len(re.findall(r"\*\*", other))
        assert numbers(one) == numbers(other)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_of_no_machine(path):
    text = path.read_text(encoding="utf-8")
    assert path.stat().st_size < MOST_BYTES
    assert not FOREIGN.search(text)
    outputs = [output for cell in cells(path, "code") for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {
        "stream",
        "display_data",
        "execute_result",
    }
    first = "".join(cells(path, "code")[0]["source"])
    assert first.startswith("import attncost as ac\n")


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_page_holds_all_text_code_and_output_of_its_notebook(path):
    page = loaded(ROOT / "docs/notebook_pages.py").markdown(path)
    assert f"]({path.name})" in page
    for cell in cells(path, "markdown"):
        for line in "".join(cell["source"]).splitlines():
            assert re.sub(r"\.ipynb\)", ".md)", line) in page
    for cell in cells(path, "code"):
        assert "".join(cell["source"]) in page
        text, pictures = shown(cell)
        assert text.rstrip() in unescape(page)
        for picture in pictures:
            assert picture in page
    linked = set(re.findall(r"\]\(([\w.]+)\.md\)", page))
    assert len(linked) == 2
    assert linked < {one.stem for one in PATHS}
    assert not any(
        "\n\n" in figure for figure in re.findall(r"<figure.*?</figure>", page, re.DOTALL)
    )


@pytest.mark.parametrize(
    ("page", "language"),
    [
        ("notebooks/derivation.zh.md", "zh-Hans"),
        ("notebooks/derivation.en.md", "en"),
        ("a.md", "en"),
    ],
)
def test_a_page_says_its_language(page, language):
    said = loaded(ROOT / "docs/notebook_pages.py").on_post_page(
        '<html lang="en" x="y">', page=SimpleNamespace(file=SimpleNamespace(src_uri=page))
    )
    assert said == f'<html lang="{language}" x="y">'
