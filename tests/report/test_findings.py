"""The report of a model: every chapter, and numbers that agree with what they were made from."""

from dataclasses import replace

import pytest

from attncost.batches.curves import Curves
from attncost.cost.reading import preset
from attncost.measure.laws.series import Laws
from attncost.measure.store.sample import Sample
from attncost.measure.subjects.target import target
from attncost.mechanisms.spelling import known, spelled
from attncost.report.alternatives import alternatives
from attncost.report.document import Figure
from attncost.report.findings import report
from attncost.report.head_rows import HeadRow, Heads
from attncost.report.heads import Mapped
from attncost.report.html import html
from attncost.report.lines import Text
from attncost.report.material import Material
from attncost.report.priced import priced
from attncost.report.timed import timed
from attncost.report.timing import Timing

ENVIRONMENT = {
    "schema": "attncost.samples/1",
    "command": "attncost measure layer",
    "device": "cpu",
    "processor": "a processor",
    "threads": 1,
    "torch": "2.13.0",
    "clock": "process CPU time",
}
LENGTHS = (64, 128, 256, 512)


def samples(attentions=("full", "naive"), seconds_of_flop=1e-11):
    """A machine without noise, on which naive attention is three times as slow."""
    for i, attention in enumerate(attentions):
        for n in LENGTHS:
            linear, core = 8 * n * 64**2, 4 * n * n * 64
            for visit in range(6):
                yield Sample(
                    subject=f"{attention}, fused qkv",
                    labels={"attention": attention},
                    length=n,
                    batch=1,
                    dtype="float32",
                    round=visit,
                    warmup=False,
                    repeats=1,
                    seconds=(linear + (1 + 2 * i) * core) * seconds_of_flop,
                    wall_seconds=1.0,
                    peak_bytes=4 * (5 * n * 64 if i == 0 else 2 * n * n * 4 + 3 * n * 64),
                    linear_flops=linear,
                    core_flops=core,
                )


def timing(rows=None, laws=None):
    found = Timing.of("a-run", ENVIRONMENT, list(samples() if rows is None else rows))
    return found if laws is None else replace(found, laws=laws)


def table(chapter, title):
    blocks = chapter.section.blocks
    tables = [block.table if isinstance(block, Figure) else block for block in blocks]
    return next(one for one in tables if title in one.title)


def test_a_model_is_priced_step_by_step_and_its_shares_are_whole():
    model = preset("llama-3-8b")
    chapter = priced(model, lengths=(8192, 131_072), command="c")
    (finding,) = chapter.findings
    assert "69.6 % attention; half from 57,255" in finding.text
    assert finding.values["flops"] == model.cost(131_072).useful
    *steps, whole = table(chapter, "Each step").rows
    assert sum(flops or 0 for _, flops, *_ in steps) == whole[1] == finding.values["flops"]
    against = table(chapter, "all the rest")
    for n, core, linear, together, share in against.rows:
        assert core + linear == together == model.cost(n).useful
        assert share == core / together


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("demo", "from 2,305 tokens, beyond the 512 that the model takes"),
        ("llama-3-8b", "from 57,255 tokens."),
        ("layer:d_model=64,heads=4", "from 128 tokens."),
    ],
)
def test_it_says_where_attention_takes_over(name, sentence):
    model = target(name).configuration
    chapter = priced(model, lengths=(64, 512), command="c")
    assert any(sentence in text for text in chapter.section.text)


def test_every_attention_is_priced_and_the_length_from_which_it_wins_is_exact():
    model = target("layer:d_model=64,heads=4").configuration
    chapter = alternatives(model, lengths=(256, 4096), command="c")
    rows = {row[0].partition(":")[0]: row for row in table(chapter, "In place of").rows}
    assert list(rows) == list(known())
    assert rows["full"] == ("full", "exact", 1.0, 1.0, None, None)
    assert rows["linformer"][1:5:3] == ("approximate", 513), "twice the rank of 256, and one more"
    assert rows["nystrom"][1] == "formula only"
    assert rows["window"][4] == 2, "a causal window reads fewer pairs from two tokens on"
    executed = rows["window"][5]
    assert executed % 64 == 0
    assert 256 < executed < 1024, "blocks of 128 come on top of the width"
    (finding,) = chapter.findings
    runs = {name: row[3] for name, row in rows.items() if row[1] != "formula only"}
    assert finding.values["share"] == min(runs.values()), "what cannot be run is no advice"
    assert finding.values["attention"].partition(":")[0] in runs
    (figure,) = (one for one in chapter.section.blocks if isinstance(one, Figure))
    assert len(figure.table.columns) == 3, "a column for each length, not for each attention"
    assert [row[0].partition(":")[0] for row in figure.table.rows] == list(known())
    assert (figure.table.rows[list(known()).index("full")][2]) == model.core(4096).useful
    first, *others = [one.name for one in figure.chart.series]
    assert first == "full"
    drawn = [model.core(4096, spelled(name)).useful for name in others]
    left = [row[2] for row in figure.table.rows if row[0] not in (first, *others)]
    assert len(others) == 7
    assert max(drawn) <= min(left), "the cheapest are drawn beside its own"


def test_measured_time_and_memory_stand_beside_their_formulas():
    chapter = timed(target("layer:d_model=64,heads=4"), timing())
    time, memory, law = chapter.findings
    assert time.text.endswith("with full, 2.60 x as long with naive.")
    assert time.values["seconds"].keys() == {"full", "naive"}
    assert law.text.startswith("By time attention leads from 128 (")
    assert law.command == "attncost fit a-run"
    assert law.values["crossover"]["value"] == pytest.approx(128, rel=1e-3)
    for _, _, peak, formula, _ in table(chapter, "Peak memory").rows:
        assert peak == formula
    for row in table(chapter, "Time of one").rows:
        assert row[2] == pytest.approx(row[5], rel=1e-3)
    rates = {row[0]: row[5] for row in table(chapter, "The law of each").rows}
    assert rates["full, fused qkv"] == pytest.approx(3 * rates["naive, fused qkv"], rel=1e-3)
    assert "1.02 GiB" not in memory.text
    own = table(chapter, "The law of full")
    assert [row[0] for row in own.rows] == list(LENGTHS)
    for length, median, low, high, fitted, theory, _ in own.rows:
        assert low <= median <= high
        # A machine without noise, at one speed for all FLOPs: theory is the law and the time.
        flops = 8 * length * 64**2 + 4 * length**2 * 64
        assert median == pytest.approx(flops * 1e-11)
        assert theory == pytest.approx(median)
        assert fitted == pytest.approx(median, rel=1e-3)


def test_a_subject_without_a_closed_form_has_none_drawn():
    alone = timing(samples(["window:width=33,ahead=16"]))
    chapter = timed(target("layer:d_model=64,heads=4"), alone)
    time, *_ = chapter.findings
    assert time.text.endswith("here with window:width=33,ahead=16."), "nothing to compare it with"
    assert {row[3] for row in table(chapter, "Peak memory").rows} == {None}


def test_more_subjects_than_a_chart_can_hold_are_all_in_the_table():
    chapter = timed(target("layer"), timing(samples([f"window:width={n}" for n in range(1, 12)])))
    charts = [block.chart for block in chapter.section.blocks if isinstance(block, Figure)][:2]
    assert all("3 more are in the table." in chart.description for chart in charts)
    assert len({row[0] for row in table(chapter, "Time of one").rows}) == 11


def test_a_report_has_every_chapter_and_each_number_its_command():
    text = Text(name="a text", lengths=[3, 9, 4], unit="words", batch_size=2)
    document = report(
        target("layer:d_model=64,heads=4"),
        Material(text=text, timing=timing(), beside=preset("llama-3-8b")),
        command="attncost report layer:d_model=64,heads=4 --run a-run",
        formulas="attncost report layer:d_model=64,heads=4 --no-measure",
    )
    assert [" ".join(section.title.split()[:2]) for section in document.sections] == [
        "What this",
        "The formulas",
        "What it",
        "What if:",
        "What padding",
        "Other attention",
        "What llama-3-8b",
        "What fits",
        "Other attention",
    ]
    assert all(finding.command.startswith("attncost ") for finding in document.findings)
    assert "schema" not in document.facts["environment"]
    page = html(document)
    assert page.count("<svg") == 12, "a model, not a layer, has three of what fits"
    assert "none of its words.</p>" in page


def test_a_report_says_that_the_maps_beside_it_hold_the_words_that_it_does_not():
    text = Text(name="a text", lengths=[3, 9, 4], unit="words", batch_size=2)
    row = HeadRow(
        layer="layer.0",
        head=0,
        width=2,
        half_width=1,
        entropy=1.0,
        on_first=0.1,
        on_self=0.1,
        on_previous=0.1,
        special=None,
        effective_rank=1.0,
    )
    found = Heads(model="a", read="a text", left_out="", length=9, first=4, rows=(row,), prices={})
    for page, end in (
        ("a-maps.html", "its words; the maps beside it contain the words."),
        ("", "its words."),
    ):
        document = report(
            target("layer:d_model=64,heads=4"),
            Material(text=text, mapped=Mapped(heads=found, page=page, command="again")),
            command="all of it",
            formulas="formulas",
        )
        assert document.facts["contains"].endswith(end)


def test_times_of_batches_are_foretold_by_the_whole_command_and_flops_by_formulas():
    text = Text(name="a.txt", lengths=[3, 9, 30, 4], unit="tokens", batch_size=2)
    machine = Curves("calls", rest=((1, 1.0), (1 << 20, 2.0)), attend=((1, 1e-9),))
    for told, command in ((machine, "all of it"), (None, "formulas")):
        document = report(
            target("layer:d_model=64,heads=4"),
            Material(text=text, machine=told),
            command="all of it",
            formulas="formulas",
        )
        (found,) = (one for one in document.findings if one.key == "padding")
        assert found.command == command


def test_without_text_timing_or_company_a_report_is_shorter():
    command = "attncost report llama-3-8b"
    document = report(target("llama-3-8b"), Material(), command=command, formulas=command)
    assert [section.title for section in document.sections] == [
        "What llama-3-8b costs by formula",
        "The formulas of llama-3-8b, with its numbers",
        "What fits of llama-3-8b",
        "What if: llama-3-8b",
        "Other attention in llama-3-8b",
    ]
    assert document.subtitle.startswith("By formula")
    assert "contains no text" in document.facts["contains"]
    beside = Material(beside=preset("llama-3-8b"))
    alone = report(target("llama-3-8b"), beside, command=command, formulas=command)
    assert len(alone.sections) == 5, "a model is not put beside itself"


def test_a_subject_without_a_law_is_measured_all_the_same():
    chapter = timed(
        target("layer:d_model=64,heads=4"),
        timing(laws=Laws({}, {"full, fused qkv": "a law needs 2 lengths."})),
    )
    assert [finding.key for finding in chapter.findings] == ["measured_time", "measured_memory"]
    assert "full, fused qkv: no law, for a law needs 2 lengths." in chapter.section.text
    assert {row[5] for row in table(chapter, "Time of one").rows} == {None}


def test_a_law_that_cannot_tell_or_does_not_fit_says_so_instead_of_a_crossover():
    chosen = target("layer:d_model=64,heads=4")
    short = [row for row in samples() if row.length < 256]
    longer = [row for row in samples() if row.length < 512]
    gaps = [row for row in samples() if row.length != 256]
    cubic = [replace(row, seconds=row.length**3 * 1e-9) for row in samples()]
    answers = [
        timed(chosen, timing(rows)).findings[2].text for rows in (short, longer, gaps, cubic)
    ]
    assert answers[0] == "Up to 128 tokens time (full) cannot tell where attention leads."
    assert answers[1] == (
        "Too short to place a crossover by time: 256 tokens (full); measure up to 512."
    )
    assert answers[2].startswith("By time attention leads from 128 (")
    assert answers[2].endswith(" in full, undecided."), "three lengths are too few"
    assert answers[3] == "Time of full does not follow its FLOPs: it grows 512.0 x, they 26.7 x."
