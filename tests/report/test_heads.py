"""The chapter about heads: its numbers against ones that are written out by hand."""

import pytest

from attncost.report.document import Document, Figure
from attncost.report.head_rows import HeadRow, Heads, labels, telling_width
from attncost.report.heads import Mapped, described, heads_chapter, heads_facts
from attncost.report.html import html
from attncost.report.maps_summary import maps_document, maps_title
from attncost.report.plain import plain
from attncost.report.text import text
from attncost.view.prices.layers import LayerPrice

NEAR = [4, 20, 30, 500, 512, 512]


def row(layer, head, width, first, call=None):
    return HeadRow(
        layer=layer,
        call=call,
        head=head,
        width=width,
        half_width=None if width is None else (width + 1) // 2,
        entropy=1.0 + head,
        on_first=first,
        on_self=None if width is None else 0.1,
        on_previous=None if width is None else 0.2,
        special=None,
        effective_rank=3.0,
    )


def price(layer, share, damage):
    return LayerPrice(
        name=f"layer.{layer}.attention",
        share=share,
        line=f"ac.hf.swap(model, ac.Window(64), layers=[{layer}])",
        damage=damage,
        sentence="A sentence.",
    )


def heads(rows=None, prices=(), **more):
    rows = rows or [
        row(f"layer.{place // 3}.attention", place % 3, within, 0.6 if place == 5 else 0.1)
        for place, within in enumerate(NEAR)
    ]
    settings = {"model": "demo", "read": "a.txt, 512 tokens", "left_out": "", "length": 512}
    return Heads(
        **settings | more,
        first=4,
        rows=tuple(rows),
        prices={one.name: one for one in prices},
    )


def chapter(found, page="page-maps.html"):
    return heads_chapter(Mapped(heads=found, page=page, command="attncost maps demo"))


def test_the_width_that_is_told_is_the_one_that_saves_most():
    finding, *_ = chapter(heads()).findings
    assert finding.text == ("3 of 6 heads keep 95 % within 32 tokens; 1 rests on the first 4.")
    assert finding.values == {"heads": 6, "length": 512, "within": 32, "near": 3, "resting": 1}
    assert finding.command == "attncost maps demo"


@pytest.mark.parametrize(
    ("widths", "length", "told"),
    [
        ([1], 2, 1),
        ([2], 2, None),
        ([], 64, None),
        ([3, 3, 40], 128, 4),
        ([9, 60], 128, 64),
        ([9, 9, 60], 128, 16),
    ],
)
def test_a_width_is_told_by_heads_times_tokens_left_out(widths, length, told):
    assert telling_width(widths, length) == told
    best = max(
        (sum(w <= 2**p for w in widths) * (length - 2**p) for p in range(20) if 2**p <= length / 2),
        default=0,
    )
    assert (told is None) == (best == 0)
    if told:
        assert sum(w <= told for w in widths) * (length - told) == best


def test_heads_that_look_everywhere_are_told_so():
    finding, *_ = chapter(heads([row("l.0", 0, 512, 0.1)])).findings
    assert finding.text == (
        "Its head does not keep 95 % within 256 tokens; it does not rest on the first 4."
    )


def test_heads_whose_keys_come_from_elsewhere_have_no_distance():
    found = chapter(heads([row("l.0", 0, None, 0.9), row("l.0", 1, None, 0.1)]))
    assert found.findings[0].text == "1 rests on the first 4."
    (table,) = found.section.blocks
    assert table.rows[0][:4] == ("0", None, 0.5, None)


def test_one_head_is_not_counted():
    finding, *_ = chapter(heads([row("l.0", 0, 1, 0.9)], length=2)).findings
    assert finding.text == "Its head keeps 95 % within 1 token; it rests on the first 4."
    finding, *_ = chapter(heads([row("l.0", 0, 1, 0.9)], length=1)).findings
    assert finding.text == "Its head rests on the first 4."


def test_heads_across_are_said_to_be_left_out():
    rows = [row("l.0.a", n, 9, 0.1) for n in range(2)] + [row("l.0.b", 0, None, 0.1)]
    found = chapter(heads(rows))
    assert found.findings[0].text.startswith("2 of 2 self-attention heads keep")
    (said,) = (one for one in found.section.text if "cross" in one)
    assert said == "1 head of cross attention has no distance, as keys come from another sequence."


def test_a_change_that_is_small_is_not_written_as_none():
    found = chapter(heads(prices=[price(0, 0.5, 2e-7)]))
    assert found.findings[-1].text.endswith("moves the output less than 0.001 %.")


def test_one_head_is_named_in_the_title():
    assert maps_title(heads([row("layer.3.a", 7, 9, 0.1)])) == "Layer 3, head 7 of demo"
    assert maps_title(heads()) == "What 6 heads in 2 layers of demo attend to"


def test_layers_of_an_encoder_and_a_decoder_have_names_that_a_terminal_holds():
    rows = [
        row("encoder.block.0.layer.0.SelfAttention", 0, 9, 0.1),
        row("decoder.block.0.layer.0.SelfAttention", 0, 9, 0.1),
        row("decoder.block.0.layer.1.EncDecAttention", 0, None, 0.1),
    ]
    table, _ = chapter(heads(rows)).section.blocks
    assert [one[0] for one in table.rows] == ["encoder 0", "decoder 0", "cross 0"]
    printed = text(maps_document(heads(rows), files={}, command="attncost maps t5"))
    for label in ("encoder 0", "decoder 0", "cross 0"):
        assert label in printed


def test_a_layer_is_the_median_of_reach_and_the_mean_of_all_else():
    table, figure = chapter(heads()).section.blocks
    assert [one[0] for one in table.rows] == ["0", "1"]
    assert table.rows[0][1:] == (20, pytest.approx(0.1), 0.1, 0.2, None, 2.0, 3.0)
    assert table.rows[1][1] == 512
    assert isinstance(figure, Figure)
    assert len(figure.table.rows) == 6
    most, half = figure.chart.series
    assert {p.x: p.y for p in most.points}[32] == 3
    assert {p.x: p.y for p in half.points}[16] == 3
    assert most.points[-1].y == half.points[-1].y == 6


def test_of_a_thousand_heads_the_first_are_listed():
    many = heads([row(f"layer.{n // 40}.a", n % 40, 9, 0.1) for n in range(1000)])
    _, figure = chapter(many).section.blocks
    assert len(figure.table.rows) == 144
    assert figure.table.note == "The first 144 of 1,000 heads; all are in the maps."
    _, figure = chapter(many, page="").section.blocks
    assert figure.table.note == "The first 144 of 1,000 heads."


def test_the_cheapest_lines_come_first_with_what_they_move():
    found = chapter(heads(prices=[price(0, 0.5, 0.01), price(1, 0.25, 0.4)]))
    swap = found.findings[-1]
    assert swap.text == "Cheapest swap, layer 1: 0.250 x, moves the output 40.0 %."
    assert swap.values["line"] == "ac.hf.swap(model, ac.Window(64), layers=[1])"
    lines = [sentence for sentence in found.section.text if "ac.hf.swap" in sentence]
    assert lines == [
        "ac.hf.swap(model, ac.Window(64), layers=[1]): 0.250 x the attention of its layer, moves "
        "the output 40.0 %.",
        "ac.hf.swap(model, ac.Window(64), layers=[0]): 0.500 x the attention of its layer, moves "
        "the output 1.00 %.",
    ]


def test_a_layer_of_several_calls_has_a_row_for_each_and_one_price():
    name = price(0, 0.5, 0.01).name
    found = chapter(heads([row(name, 0, 4, 0.1, call=n) for n in (1, 2)], [price(0, 0.5, 0.01)]))
    table, figure = found.section.blocks
    assert [one[0] for one in table.rows] == ["0 (call 1)", "0 (call 2)"]
    assert [one[:2] for one in figure.table.rows] == [("0 (call 1)", 0), ("0 (call 2)", 0)]
    assert found.findings[-1].text.startswith("Cheapest swap, layer 0: 0.500 x")
    facts = heads_facts(heads([row(name, 0, 4, 0.1, call=2)]))
    assert (facts["heads"][0]["layer"], facts["heads"][0]["call"]) == (name, 2)


def test_numbers_of_layers_are_their_names_unless_two_have_the_same():
    assert labels(["a.0.b", "a.1.b"]) == {"a.0.b": "0", "a.1.b": "1"}
    assert labels(["e.0.b", "d.0.b"]) == {"e.0.b": "e.0.b", "d.0.b": "d.0.b"}
    assert labels(["heads"]) == {"heads": "heads"}
    assert labels([""]) == {"": "the model"}


def test_a_page_links_its_maps_and_says_what_they_give_away():
    found = chapter(heads(), page="my page-maps.html")
    page = html(Document(schema="s/1", title="A report", sections=(found.section,)))
    assert page.count('<a href="my%20page-maps.html">') == 1
    assert "contain the tokens of the text and the model" in page


def test_without_a_page_there_is_no_link_and_the_reason_is_told():
    found = chapter(heads(missing=("No page of maps: it is too large.",)), page="")
    assert found.section.links == ()
    assert "No page of maps: it is too large." in found.section.text
    assert not [one for one in found.section.text if "activations" in one]


def test_a_summary_fits_a_terminal_and_keeps_every_digit():
    found = heads(prices=[price(0, 0.5, 0.01)], left_out="88 tokens")
    document = maps_document(found, files={"a.html": 7}, command="attncost maps demo")
    printed = text(document)
    assert max(map(len, printed.splitlines())) <= 80
    assert described(heads(left_out="1 token")) == "a.txt, 512 tokens. 1 token more is left out."
    assert "a.txt, 512 tokens. 88 tokens more are left out." in printed
    facts = plain(document)
    assert facts["schema"] == "attncost.maps_summary/1"
    assert facts["files"] == {"a.html": 7}
    assert facts["heads"][5]["on_first"] == 0.6
    assert facts["layers"][0]["damage"] == 0.01
    assert heads_facts(found)["left_out"] == "88 tokens"
