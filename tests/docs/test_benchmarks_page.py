"""The page about benchmarks shows all results, and hides no row that is lost."""

import json
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest
from tests.docs.pages import ROOT

FILES = sorted((ROOT / "benchmarks/results").glob("*.json"))
FOUND = {file.stem.partition("-")[0]: json.loads(file.read_text()) for file in FILES}
TEXT = (ROOT / "docs/benchmarks.md").read_text()


@pytest.fixture(scope="module")
def hook():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return import_module("benchmarks_page")
    finally:
        sys.path.remove(str(ROOT / "docs"))


@pytest.fixture(scope="module")
def made(hook):
    def page(name):
        return SimpleNamespace(file=SimpleNamespace(src_uri=name))

    assert hook.on_page_markdown(TEXT, page=page("index.md")) is None
    return hook.on_page_markdown(TEXT, page=page("benchmarks.md"))


def rows(text):
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]


def test_nothing_is_left_to_be_made_and_every_machine_is_named(made):
    assert "<!--" not in made
    for name in FOUND:
        assert f"| `benchmarks.{name}` | cpu, " in made


def test_every_promise_is_there_and_missed_ones_are_called_so(hook):
    found = rows(hook.promises())[1:]
    promised = [one for each in FOUND.values() for one in each.get("promises", ())]
    assert len(found) == len(promised) > 50
    missed = [one["name"] for one in promised if one["low"] > one["limit"]]
    assert missed, "the page shows at least one, so its mark is tested"
    assert [row[1] for row in found if row[5] == "**missed**"] == missed


def test_no_cell_of_kernels_in_which_another_is_faster_is_hidden(hook):
    text = hook.lost()
    slower = 0
    for cell in FOUND["kernels"]["times"]:
        for subject, times in cell["subjects"].items():
            for other, one in times["ratios"].items():
                way = "forward + backward" if cell["backward"] else "forward"
                row = f"| {subject} / {other}, {way}, {cell['length']:,} tokens |"
                assert (row in text) == (one["low"] > 1)
                slower += one["low"] > 1
    assert slower >= 10


def test_the_worst_row_comes_first(hook):
    figures = [float(row[2]) for row in rows(hook.lost())[1:]]
    assert figures == sorted(figures, reverse=True)
    assert min(figures) >= 1
