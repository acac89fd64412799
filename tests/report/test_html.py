import re
from html import escape
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from tests.report.sample import document

from attncost.core.counts import symbol
from attncost.draw.chart import Axis, Chart, Mark, Point, Series
from attncost.draw.look import COLOURS
from attncost.report.document import Column, Document, Figure, Finding, Section, Table
from attncost.report.html import html

BAD = '<script>alert(1)</script> "quoted" \'and\' & <b onclick="x">'


class Elements(HTMLParser):
    """Every tag with its attributes, and every text with the tags around it."""

    VOID = frozenset({"meta", "link"})

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.around = [], [], []
        self.feed(page)
        self.close()
        assert self.around == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.around.append(tag)

    def handle_endtag(self, tag):
        assert self.around.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.around[-1] if self.around else "", data))


def hostile():
    table = Table(
        title=BAD,
        columns=(Column(BAD), Column("f", "formula"), Column("c", "count")),
        rows=((BAD, BAD, 1), (None, symbol("n") ** 2, None)),
        note=BAD,
        command=BAD,
    )
    chart = Chart(
        title=BAD,
        description=BAD,
        x=Axis(label=BAD, unit="tokens"),
        y=Axis(label=BAD),
        series=(Series(BAD, (Point(1, 2),), "markers"),),
        marks=(Mark(1, BAD),),
    )
    return Document(
        schema=BAD,
        title=BAD,
        subtitle=BAD,
        command=BAD,
        findings=(Finding(key=BAD, text=BAD, command=BAD),),
        sections=(Section(title=BAD, text=(BAD,), blocks=(table, Figure(chart, table))),) * 4,
        facts={"environment": {BAD: BAD, "more": {BAD: [BAD, 1]}}, "contains": BAD},
    )


def test_everything_typed_is_text():
    page = html(hostile())
    elements = Elements(page)
    assert "script" not in {tag for tag, _ in elements.tags}
    assert not [name for _, attributes in elements.tags for name in attributes if name[:2] == "on"]
    assert page.count(escape(BAD)) > 40
    assert "alert" not in re.sub(re.escape("&lt;script&gt;alert(1)&lt;/script&gt;"), "", page)


def test_a_page_runs_and_requests_nothing_and_says_so():
    elements = Elements(html(document()))
    assert not {"script", "img", "iframe", "object"} & {tag for tag, _ in elements.tags}
    for tag, attributes in elements.tags:
        reference = attributes.get("href", attributes.get("src", "#"))
        data = tag == "a" and attributes.get("download") and reference[:5] == "data:"
        assert reference[0] == "#" or data or (tag, reference) == ("link", "data:,")
    policy = next(a["content"] for _, a in elements.tags if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "url(" not in html(document())
    assert any("requests nothing" in text for _, text in elements.texts)


def test_a_real_report_stays_small():
    assert len(html(document()).encode()) < 80_000


def test_findings_come_first_each_with_its_command():
    text = re.sub(r"<style>.*?</style>|<[^>]+>", "", html(document()), flags=re.DOTALL)
    places = [text.index(escape(part)) for f in document().findings for part in (f.text, f.command)]
    assert places[0] < text.index("Contents")
    for finding, command in zip(places[::2], places[1::2], strict=True):
        assert finding >= 0
        assert command >= 0
    assert places[::2] == sorted(places[::2])


def test_there_is_a_table_of_contents_only_where_it_helps():
    sections = document().sections
    assert len(sections) == 4
    assert html(document()).count('<a href="#section-') == 4
    assert html(document()).count('<a href="#raw-data"') == 1
    short = Document(schema="s", title="t", sections=sections[:3])
    assert "<nav>" not in html(short)


def test_links_lead_to_ids_that_are_unique():
    elements = Elements(html(document()))
    ids = [attributes["id"] for _, attributes in elements.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in elements.tags:
        targets = attributes.get("aria-labelledby", "").split()
        targets += [attributes["href"][1:]] if attributes.get("href", "")[:1] == "#" else []
        assert set(targets) <= set(ids)


def test_cells_are_written_for_people_and_an_empty_one_is_empty():
    n, d = symbol("n"), symbol("d")
    table = Table(
        title="costs",
        columns=(Column("step"), Column("FLOPs", "formula"), Column("at 512", "flops")),
        rows=(("scores", 2 * d * n**2, 201_326_592), ("none", None, None)),
    )
    page = html(Document(schema="s", title="t", sections=(Section(title="s", blocks=(table,)),)))
    assert '<th scope="row" class="short">scores</th>' in page
    square = "<msup><mi>n</mi><mn>2</mn></msup>"
    drawn = f"<mn>2</mn><mo>·</mo>{square}<mo>·</mo><mi>d</mi>"
    cell = f'<td class="short"><math alttext="2·n²·d">{drawn}</math></td>'
    assert f'{cell}<td class="number">201 MFLOPs</td>' in page
    assert '<td class="short"></td><td class="number"></td>' in page
    assert '<th scope="col" class="number">at 512</th>' in page


def test_a_figure_carries_its_numbers_and_their_command():
    page = html(document())
    figures = re.findall(r"<figure.*?</figure>", page, flags=re.DOTALL)
    assert len(figures) == 5
    for figure in figures:
        order = ("<figcaption>", "<svg", "<details><summary>", "<table>", 'class="command"')
        places = [figure.index(part) for part in order]
        assert places == sorted(places)


def test_the_environment_and_what_the_page_gives_away_stand_at_its_foot():
    foot = html(document()).split("<footer>")[1]
    assert "<dt>machine processor</dt><dd>x86-64, 2 cores</dd>" in foot
    assert "<dt>flags</dt><dd>avx2, avx512f</dd>" in foot
    assert "accelerator" not in foot
    assert "notes" not in foot
    assert "no text, tokens or activations" in foot
    assert "<dl>" not in html(Document(schema="s", title="t"))


def luminance(colour):
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in channels]
    return sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(a, b):
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("slot", range(8))
def test_every_series_stands_out_on_every_background(slot):
    style = files("attncost.report").joinpath("page.css").read_text(encoding="utf-8")
    papers = re.findall(r"--paper: (#[0-9a-f]{6});", style)
    inks = re.findall(rf"--s{slot}: (#[0-9a-f]{{6}});", style)
    assert len(papers) == len(inks) == 2
    assert all(contrast(ink, paper) >= 3 for ink, paper in zip(inks, papers, strict=True))
    # Outside a page the same colour must do for both.
    assert all(contrast(COLOURS[slot], paper) >= 3 for paper in (*papers, "#ffffff"))
