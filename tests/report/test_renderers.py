"""The same document in every form: nothing is lost, nothing that people typed becomes markup."""

import json
import math

import pytest

from attncost.core.counts import symbol
from attncost.core.errors import ShapeError
from attncost.draw.chart import Axis, Chart, Point, Series
from attncost.report.document import Column, Document, Figure, Finding, Link, Section, Table
from attncost.report.html import html
from attncost.report.latex import latex
from attncost.report.markdown import markdown
from attncost.report.plain import dumped, plain
from attncost.report.text import text

TABLE = Table(
    title="Costs",
    columns=(Column("name"), Column("count", "formula"), Column("FLOPs", "flops")),
    rows=(("a|b_c", 2 * symbol("n") * symbol("d"), 4_294_967_296), ("none", None, None)),
    note="Only an example.",
    command="attncost derive",
)
CHART = Chart(
    title="Time",
    description="Time against length",
    x=Axis(label="tokens", unit="tokens"),
    y=Axis(label="time", unit="seconds"),
    series=(Series("measured", (Point(64, 0.1, 0.09, 0.2),), "markers"),),
)
DOCUMENT = Document(
    schema="attncost.example/1",
    title="An example",
    subtitle="100 % made up",
    command="attncost example",
    findings=(Finding(key="half", text="Half of it.", values={"share": 0.5}, command="x"),),
    sections=(Section(title="Numbers", text=("A sentence.",), blocks=(TABLE,)),),
    facts={"speed": math.inf},
)


@pytest.mark.parametrize("render", [text, markdown, latex])
def test_every_rendering_for_people_shows_every_part(render):
    shown = render(DOCUMENT)
    for part in ("Half of it.", "Numbers", "A sentence.", "FLOPs", "4.29 GFLOPs", "none"):
        assert part in shown


def test_text_fits_a_terminal():
    assert max(map(len, text(DOCUMENT).splitlines())) <= 80
    assert "2·n·d" in text(DOCUMENT)


def test_a_figure_is_shown_as_its_table_where_nothing_can_be_drawn():
    drawn = Document(
        schema="s/1", title="t", sections=(Section(title="s", blocks=(Figure(CHART, TABLE),)),)
    )
    for render in (text, markdown, latex, dumped):
        assert "none" in render(drawn)


def test_markdown_and_latex_escape_what_people_typed():
    assert r"a\|b\_c" in markdown(DOCUMENT)
    assert r"a|b\_c" in latex(DOCUMENT)
    assert r"$2 \, n \, d$" in latex(DOCUMENT)


def test_json_keeps_every_digit_and_holds_no_infinity():
    found = json.loads(dumped(DOCUMENT))
    assert found["schema"] == "attncost.example/1"
    assert found["tables"][0]["rows"][0] == ["a|b_c", "2·n·d", 4_294_967_296]
    assert found["findings"][0]["values"] == {"share": 0.5}
    assert found["speed"] is None
    assert plain(DOCUMENT)["speed"] == math.inf


def test_a_table_with_a_cell_too_many_is_refused():
    with pytest.raises(ShapeError, match="Costs: 3 columns"):
        Table(title="Costs", columns=TABLE.columns, rows=(("a", 1),))
    with pytest.raises(ShapeError, match=r"unit must be one of .*, got 'kg'"):
        Column("weight", "kg")


def test_a_link_leads_to_a_file_beside_the_page_whatever_it_is_called():
    link = Link("Its maps & more", 'maps:"of" <a> cat.html')
    linked = Document(schema="s/1", title="t", sections=(Section(title="s", links=(link,)),))
    address = "maps%3A%22of%22%20%3Ca%3E%20cat.html"
    assert f'<a href="{address}">Its maps &amp; more</a>' in html(linked)
    assert f"[Its maps & more]({address})" in markdown(linked)
    assert 'Its maps & more: maps:"of" <a> cat.html' in text(linked)
    assert r"Its maps \& more: maps" in latex(linked)
    assert json.loads(dumped(linked))["links"] == [{"text": link.text, "file": link.file}]
    assert "links" not in plain(DOCUMENT)


@pytest.mark.parametrize("file", ["", ".", "a/b.html", "/b.html", "javascript:alert(1)//"])
def test_a_link_to_anywhere_else_is_refused(file):
    with pytest.raises(ShapeError, match="leads to a file beside the page"):
        Link("there", file)
