"""Plans as documents: what a chapter and a chart show is what the formulas say."""

import pytest

from attncost.cost.planning.fit import longest
from attncost.cost.planning.needs import needs, total
from attncost.cost.planning.sharding import Sharding
from attncost.cost.planning.situation import Situation
from attncost.cost.reading import preset
from attncost.integrations.sizes import sized
from attncost.report.document import Table
from attncost.report.held import over_length
from attncost.report.html import html
from attncost.report.planned import plan_chapter, plan_document
from attncost.report.planning import Request
from attncost.report.remedies import remedies

GIB = 1 << 30


def request(name="llama-3-8b", *, memory=80 * GIB, **more):
    model = sized(name).configuration
    situations = more.pop("situations", (Situation(work="decode"),))
    return Request(name=name, models={"own": model}, memory=memory, situations=situations, **more)


def fitting(work, memory=80 * GIB):
    return longest(preset("llama-3-8b"), Situation(work=work), memory=memory).greatest


def test_a_chapter_says_what_fits_into_common_devices():
    chapter = plan_chapter("llama-3-8b", preset("llama-3-8b"))
    (finding,) = chapter.findings
    prefill, decode = fitting("prefill"), fitting("decode")
    assert finding.text == (
        f"llama-3-8b, tokens in 80 GiB: prefill {prefill:,}, decode {decode:,}, training none."
    )
    assert finding.command.startswith("attncost plan llama-3-8b --memory 80GiB")
    table, *tried, drawn, _, _ = chapter.section.blocks
    assert [row[0] // GIB for row in table.rows] == [8, 24, 80]
    assert table.rows[-1][1:] == (prefill, decode, "none")
    assert table.rows[0][1:] == ("none", "none", "none")
    assert [one.title.split(", ")[2] for one in tried] == ["causal", "window:width=4096"]
    assert [mark.x for mark in drawn.chart.marks] == [prefill]


def test_a_chapter_has_no_finding_where_positions_end_before_memory_does():
    demo = sized("demo")
    chapter = plan_chapter(demo.name, demo.configuration)
    assert chapter.findings == ()
    table, *_ = chapter.section.blocks
    assert {row[1:] for row in table.rows} == {(512, 512)}, "it reads ahead, so it decodes nothing"


def test_a_chart_shows_every_part_up_to_beyond_what_fits():
    (way,) = request().main
    figure = over_length(way, batch=1, command="c")
    lengths = [row[0] for row in figure.table.rows]
    assert lengths[-2] < 2 * fitting("decode") <= lengths[-1]
    for n, *parts, whole in figure.table.rows:
        assert whole == sum(parts) == total(needs(way.model, way.how, length=n))
    names = [series.name for series in figure.chart.series]
    assert names == ["weights", "cache", "activations", "logits", "together", "there are 80.0 GiB"]
    assert [mark.x for mark in figure.chart.marks] == [fitting("decode")]


def test_a_chart_ends_with_the_last_position():
    (way,) = request("demo", situations=(Situation(),)).main
    assert over_length(way, batch=1, command="c").table.rows[-1][0] == 512


def test_remedies_are_the_fewest_devices_and_the_widest_weights_that_do():
    (way,) = request(memory=8 * GIB).main
    assert remedies(way) == (
        "2 such devices hold it (tensor); one device holds it with weights in fp8"
    )
    (way,) = request(memory=8 * GIB, situations=(Situation(work="training"),)).main
    devices = int(remedies(way).split()[0])
    for n, fits in ((devices, True), (devices - 1, False)):
        shared = Situation(work="training", sharding=Sharding(data=n, zero=3))
        assert (total(needs(way.model, shared, length=1, batch=n)) <= 8 * GIB) is fits
    (way,) = request(memory=1000).main
    assert remedies(way) == "not even 1,024 such devices hold it"


def test_every_table_and_finding_carries_the_command():
    document = plan_document(request(lengths=(8192,), command="attncost plan it"))
    assert [one.command for one in document.findings] == ["attncost plan it"]
    page = html(document)
    tables = page.count("<table")
    # That of the document and of its finding come on top.
    assert page.count("attncost plan") == tables + 2
    assert f"1 · (32 layers · 2 · 8 heads · 128 · {fitting('decode'):,}) · 2 B" in page


def test_notes_of_a_model_are_sentences():
    document = plan_document(request("deepseek-v3", memory=2000 * GIB))
    *_, last = document.sections
    assert all(text[0].isupper() and text.endswith(".") for text in last.text)


@pytest.mark.parametrize("name", ["deepseek-v2", "deepseek-v3", "kimi-linear-48b-a3b"])
def test_a_model_that_can_have_no_other_pattern_is_planned_with_its_own(name):
    chapter = plan_chapter(name, preset(name))
    commands = [one.command for one in chapter.section.blocks if isinstance(one, Table)]
    assert commands
    assert not any("--pattern" in command for command in commands)
