"""Every pattern has a page that is made from its file, also one that nobody has heard of."""

import inspect
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from xml.etree import ElementTree

import pytest
from tests.docs.pages import ROOT

from attncost import patterns
from attncost.core.units import show
from attncost.mechanisms.spelling import known

NAMES = patterns.names()
NEW = "lower"
NEW_FORMULA = "best"
TAG = re.compile(r"<[^>]+>")
PICTURE = re.compile(r"<svg.*?</svg>", re.DOTALL)


def built(source, folder):
    """Build the site with the package that lies in `source`."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("package") / "src"
    shutil.copytree(ROOT / "src", source)
    home = source / "attncost/patterns"
    shutil.copy(home / "causal.py", home / f"{NEW}.py")
    formulas = source / "attncost/mechanisms/formulas"
    shutil.copy(formulas / "top_k.py", formulas / f"{NEW_FORMULA}.py")
    done = built(source, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def page(site, name):
    return (site / "patterns" / f"{name}.html").read_text(encoding="utf-8")


def words(html):
    """Return what a page says, with single spaces."""
    return " ".join(unescape(TAG.sub("", html)).split())


def usual(name):
    kind = patterns.load(name)
    try:
        return kind()
    except TypeError:
        return kind.examples()[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_what_the_file_says(site, name):
    said = inspect.getdoc(sys.modules[patterns.load(name).__module__])
    text = words(page(site, name))
    # Markdown takes backquotes away, and nothing else.
    assert " ".join(said.replace("`", "").split()) in text.replace("`", "")
    assert "pairs(" in text
    assert "O(" in text
    assert "Use it when " in text
    assert re.search(r"\bNot (when|for) ", text)
    assert patterns.load(name).source in text


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_pictures_that_name_themselves(site, name):
    pictures = PICTURE.findall(page(site, name))
    assert len(pictures) in (1, 2)
    for picture in pictures:
        root = ElementTree.fromstring(picture)
        assert root.get("aria-label").startswith("What ")
        assert len(picture) <= 40_000


@pytest.mark.parametrize("name", NAMES)
def test_a_page_prices_what_the_definition_reads(site, name):
    html, pattern = page(site, name), usual(name)
    rows = re.findall(r'<tr>\s*(<td style="text-align: right.*?)</tr>', html, re.DOTALL)
    lengths = ["1,024", "4,096", "16,384"]
    assert [words(row).split()[0] for row in rows] == lengths[: 3 if name in known() else 2]
    first, second = ([words(cell) for cell in row.split("</td>")] for row in rows[:2])
    for cells, n in ((first, 1024), (second, 4096)):
        assert cells[1] == show(4 * 8 * 64 * pattern.count(n, n), "flops")
        assert cells[4] == show(4 * 8 * 64 * n * n, "flops")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_tells_every_parameter_and_how_to_write_it(site, name):
    text, kind = words(page(site, name)), patterns.load(name)
    for parameter in inspect.signature(kind).parameters:
        assert re.search(rf"\b{parameter}\b[^:]*: [A-Z]", text), parameter
    assert f"{kind.__name__}(" in text
    assert f"attncost derive {name}" in text or "the command line cannot spell it" in text


def test_the_overview_shows_them_all(site):
    html = page(site, "index")
    assert len(PICTURE.findall(html)) == len(NAMES) + 1
    for name in NAMES:
        assert html.count(f'href="{name}.html"') >= 2
    assert "O(n m d)" in words(html)
    for name, share in (("full", "100 %"), ("causal", "50.0 %"), ("window", "21.9 %")):
        assert re.search(rf"{name}</a></td>(?:\s*<td[^>]*>[^<]*</td>)*?\s*<td[^>]*>{share}", html)


def test_a_new_file_is_a_new_page_in_the_navigation(site):
    assert NEW not in NAMES
    assert "every query reads itself and all keys before it" in page(site, NEW)
    assert f'href="patterns/{NEW}.html"' in (site / "index.html").read_text(encoding="utf-8")


def test_a_new_formula_is_a_new_page_in_the_navigation_and_in_the_overview(site):
    folder = site / "mechanisms"
    assert "attncost derive best:keys=64" in (folder / f"{NEW_FORMULA}.html").read_text()
    assert f'href="mechanisms/{NEW_FORMULA}.html"' in (site / "index.html").read_text()
    assert f'<a href="{NEW_FORMULA}.html">' in (folder / "index.html").read_text()


def test_what_makes_the_pages_is_not_published(site):
    assert not list(site.glob("**/*.py"))
