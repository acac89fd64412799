"""The page as a browser shows it, with the network blocked."""

import gzip
import json
from dataclasses import replace

import pytest
from tests.browser import opened, serious
from tests.report.sample import document

from attncost.core.counts import symbol
from attncost.core.formula import Filled
from attncost.draw.chart import Axis, Chart, Mark, Point, Series
from attncost.draw.svg import svg
from attncost.report.document import Column, Figure, Section, Table
from attncost.report.html import html
from attncost.report.plain import dumped

VIEWS = [(360, "light"), (360, "dark"), (1280, "light"), (1280, "dark")]

# Text of one picture that leaves it or meets other text of it; a tenth of a pixel is rounding.
MISPLACED = """() => [...document.querySelectorAll('svg')].flatMap(picture => {
  const frame = picture.getBoundingClientRect()
  const texts = [...picture.querySelectorAll('text')].map(
    text => [text.textContent, text.getBoundingClientRect()])
  const outside = texts.filter(([, box]) => box.left < frame.left - .1 || box.top < frame.top - .1
    || box.right > frame.right + .1 || box.bottom > frame.bottom + .1)
  const meeting = texts.flatMap(([a, p], i) => texts.slice(i + 1).filter(([, q]) =>
    p.left < q.right - .1 && q.left < p.right - .1 && p.top < q.bottom - .1 &&
    q.top < p.bottom - .1).map(([b]) => [a, b]))
  return [...outside.map(([text]) => [text]), ...meeting]
})"""

# Text whose contrast to what lies behind it is below 4.5 (WCAG 2.1, success criterion 1.4.3).
FAINT = """() => {
  const channels = colour => colour.match(/[\\d.]+/g).map(Number)
  const luminance = colour => {
    const [r, g, b] = channels(colour).map(v => v / 255)
      .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    return .2126 * r + .7152 * g + .0722 * b
  }
  const behind = node => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor
      const alpha = channels(colour)[3]
      if (alpha === undefined || alpha > 0) return colour
    }
    return 'rgb(255, 255, 255)'
  }
  const written = [...document.body.querySelectorAll('*')].filter(node =>
    ![...'title desc'.split(' ')].includes(node.tagName) &&
    [...node.childNodes].some(child => child.nodeType === 3 && child.textContent.trim()))
  return written.map(node => {
    const style = getComputedStyle(node)
    const ink = node instanceof SVGElement ? style.fill : style.color
    const [dark, light] = [luminance(ink), luminance(behind(node))].sort((a, b) => a - b)
    return [(light + .05) / (dark + .05), node.textContent]
  }).filter(([contrast]) => !(contrast >= 4.5)).concat(written.length ? [] : [[0, 'no text']])
}"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(html(document()), encoding="utf-8")
    return file


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_a_page_requests_nothing_complains_of_nothing_and_fits(browser, file, width, scheme):
    with opened(browser, file, width=width, scheme=scheme) as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        assert seen.page.evaluate(MISPLACED) == []
        assert seen.page.evaluate(FAINT) == []
    assert (seen.requests, seen.errors) == ([], [])


def test_the_checks_above_can_fail(browser, tmp_path):
    file = tmp_path / "bad.html"
    file.write_text(
        "<body style='color:#999;background:#fff;margin:0'><p style='width:2000px'>faint</p>"
        "<svg viewBox='0 0 50 40' width='50'><text y='25'>longer than it</text>"
        "<text y='28'>it</text></svg><img src='http://localhost/i.png'>"
    )
    with opened(browser, file) as seen:
        assert seen.page.evaluate("document.documentElement.scrollWidth") == 2000
        assert seen.page.evaluate(MISPLACED) == [["longer than it"], ["longer than it", "it"]]
        assert [text for _, text in seen.page.evaluate(FAINT)] == ["faint"]
    assert seen.requests == ["http://localhost/i.png"]
    assert len(seen.errors) == 1


def test_a_page_says_the_same_without_scripting(browser, file):
    with opened(browser, file, javascript=False) as seen:
        without = seen.page.locator("main").inner_text()
    with opened(browser, file) as seen:
        assert seen.page.locator("main").inner_text() == without
    assert "No operation of this model is left unpriced." in without


def test_what_a_user_typed_runs_nowhere(browser, tmp_path):
    file = tmp_path / "report.html"
    bad = "<img src=x onerror=document.title='run'>"
    file.write_text(html(document()).replace("No operation", bad), encoding="utf-8")
    with opened(browser, file) as seen:
        assert seen.page.title() == "What attention costs in all-MiniLM-L6-v2"
        assert seen.requests == []
    # Even unescaped, the policy of the page stops it, and the console says so.
    assert any("Content Security Policy" in error for error in seen.errors)


def test_print_is_black_on_white_and_shows_the_numbers(browser, file):
    with opened(browser, file, scheme="dark", width=690) as seen:
        assert not seen.page.locator("details table").first.is_visible()
        seen.page.emulate_media(media="print")
        assert seen.page.locator("details table").first.is_visible()
        style = "getComputedStyle(document.body)"
        assert seen.page.evaluate(f"{style}.color") == "rgb(0, 0, 0)"
        assert seen.page.evaluate(f"{style}.backgroundColor") == "rgb(255, 255, 255)"
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 690
        assert seen.page.evaluate(FAINT) == []


def _extreme_charts():
    name = "a name that is far too long for any legend, with (brackets=1, and=2) and 変換器 in it"
    for low, high in ((1e-6, 1e20), (5, 5), (1, 1.0001), (1000, 1500), (1e-9, 2e-9), (900, 9e6)):
        for unit in ("flops", "bytes", "seconds", "tokens"):
            for log in (True, False):
                yield Chart(
                    title=f"{low} to {high} in {unit}",
                    description="An axis that is hard to divide.",
                    x=Axis(label=f"length or something longer, {name}", unit=unit, log=log),
                    y=Axis(label=f"cost, {name}", unit=unit, log=log),
                    series=(
                        Series(name, (Point(low, low), Point(high, high))),
                        Series("m", (Point(low, high, low, high * 1.5),), "markers"),
                    ),
                    marks=(Mark(low, "first"), Mark(low * 1.01, name), Mark(high, "the last one")),
                )


def test_no_text_of_any_chart_meets_other_text_or_is_cut_off(browser, tmp_path):
    file = tmp_path / "charts.html"
    pictures = [svg(chart, ident=f"c{i}") for i, chart in enumerate(_extreme_charts())]
    style = "<meta charset=utf-8><style>svg{display:block;width:800px}</style>"
    file.write_text(style + "".join(pictures), encoding="utf-8")
    with opened(browser, file) as seen:
        assert seen.page.evaluate(MISPLACED) == []
        assert seen.page.locator("svg").count() == len(pictures) == 48


def _large():
    """A report of 30 charts, and formulas beside numbers."""
    whole = document()
    n, d = symbol("n"), symbol("d")
    formula = 4 * n**2 * d + 8 * n * d**2 / symbol("h")
    drawn = Table(
        title="Formulas",
        columns=(Column("part"), Column("formula", "formula"), Column("numbers", "formula")),
        rows=(("all", formula, Filled(formula, {"n": 512, "d": 384, "h": 12})),),
    )
    figures = [block for one in whole.sections for block in one.blocks if isinstance(block, Figure)]
    sections = tuple(
        Section(title=f"Chapter {i}", text=("A sentence.",), blocks=(drawn, *figures))
        for i in range(30 // len(figures))
    )
    return replace(whole, sections=sections)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    file = tmp_path_factory.mktemp("large") / "report.html"
    file.write_text(html(_large()), encoding="utf-8")
    assert file.read_text(encoding="utf-8").count("<svg") == 30
    return file


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
def test_thirty_charts_are_small_ask_for_nothing_and_everybody_can_read_them(
    browser, large, width, scheme
):
    assert large.stat().st_size <= 1_000_000
    with opened(browser, large, width=width, scheme=scheme) as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        assert seen.page.evaluate(FAINT) == []
        assert serious(seen.page) == []
        boxes = seen.page.locator("msup mn:last-child").evaluate_all(
            "all => all.map(one => [one, one.parentElement.firstElementChild].map(x => "
            "x.getBoundingClientRect().top))"
        )
        assert all(raised < base for raised, base in boxes), "a power stands above its base"
    assert (seen.requests, seen.errors) == ([], [])


def test_the_record_is_downloaded_with_a_click_and_no_script(browser, large, tmp_path):
    with opened(browser, large, javascript=False) as seen:
        with seen.page.expect_download() as waiting:
            seen.page.locator("#raw-data a").click()
        name = waiting.value.suggested_filename
        waiting.value.save_as(tmp_path / name)
        assert seen.requests == []
    content = (tmp_path / name).read_bytes()
    whole = gzip.decompress(content) if name.endswith(".gz") else content
    assert json.loads(whole) == json.loads(dumped(_large()))
