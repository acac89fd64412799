"""The Chinese README says what the English one says, section by section and figure by figure."""

import re

import pytest
from tests.docs.pages import ROOT

FENCED = re.compile(r"^```(?:.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\]\(([^)]+)\)")
# What stands in a link or in code is compared there.
NUMBER = re.compile(r"\d[\d,.]*")
WORDS = {"thirteen": "十三"}


@pytest.fixture(scope="module")
def both():
    return [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh-CN.md")]


def prose(text):
    return FENCED.sub("", text)


def rows(text):
    """Return the cells of every row of a table."""
    return [line.split("|")[1:-1] for line in prose(text).splitlines() if line.startswith("|")]


def numbers(text):
    return sorted(figure.rstrip(",.") for figure in NUMBER.findall(LINK.sub("]", text)))


def test_each_links_to_the_other(both):
    english, chinese = both
    assert "](README.zh-CN.md)" in english.splitlines()[2]
    assert "](README.md)" in chinese.splitlines()[2]


def test_both_have_the_same_sections(both):
    english, chinese = (re.findall(r"^#+(?= )", prose(text), re.MULTILINE) for text in both)
    assert english == chinese


def test_both_have_the_same_code(both):
    english, chinese = map(FENCED.findall, both)
    assert english == chinese
    assert len(english) >= 5


def test_both_have_the_same_rows_with_the_same_figures_and_commands(both):
    english, chinese = map(rows, both)
    for one, other in zip(english, chinese, strict=True):
        for cell, translated in zip(one, other, strict=True):
            assert numbers(cell) == numbers(translated), (cell, translated)
            assert sorted(CODE.findall(cell)) == sorted(CODE.findall(translated))
            for word, meant in WORDS.items():
                assert (word in cell) == (meant in translated)


def test_both_say_the_same_figures_code_and_links_section_by_section(both):
    english, chinese = (re.split(r"^#+ ", prose(text), flags=re.MULTILINE) for text in both)
    for one, other in zip(english, chinese, strict=True):
        assert numbers(one) == numbers(other)
        assert sorted(CODE.findall(one)) == sorted(CODE.findall(other))
        links = [
            set(LINK.findall(text)) - {"README.md", "README.zh-CN.md"} for text in (one, other)
        ]
        assert links[0] == links[1]
        assert one.count("\n- ") == other.count("\n- ")


def test_every_link_leads_to_a_file(both):
    for text in both:
        for link in LINK.findall(prose(text)):
            assert (ROOT / link).exists(), link
