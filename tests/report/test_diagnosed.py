import json
import math
from dataclasses import replace

from attncost.measure.doctor.interface import Diagnosis
from attncost.measure.sweep.interleaved import Ratio
from attncost.report.diagnosed import doctor_chapter, doctor_document
from attncost.report.document import Document
from attncost.report.html import html
from attncost.report.plain import dumped
from attncost.report.text import text

ANSWERS = (
    Diagnosis(
        check="slow",
        part="training",
        what="a layer that is slow",
        verdict="costs",
        reason="it waits.",
        time=Ratio(1.5, 1.4, 1.6, 6),
        clock="process CPU time",
        bytes_now=300,
        bytes_then=100,
        advice="hurry(True)",
        undo="hurry(False)",
    ),
    Diagnosis(
        check="large",
        what="a layer that is large",
        verdict="costs",
        reason="it keeps all.",
        time=Ratio(0.9, 0.8, 1.0, 6),
        clock="wall time",
        bytes_now=800,
        bytes_then=100,
        advice="shrink()",
        undo="grow()",
    ),
    Diagnosis(
        check="fast",
        what="a layer",
        verdict="fine",
        reason="nothing to gain.",
        time=Ratio(1.0, math.nan, 1.01, 5),
        clock="process CPU time",
    ),
    Diagnosis(check="open", what="noise", verdict="cannot tell", reason="it is loud."),
    Diagnosis(check="other", what="a model", verdict="does not apply", reason="it has none."),
    Diagnosis(check="broken", what="does it?", verdict="failed", reason="ValueError: no."),
    Diagnosis(check="late", what="would it?", verdict="not run", reason="no time."),
)


def document(found=ANSWERS):
    where = {"processor": "a processor", "torch": "2"}
    return doctor_document(
        found, name="layer", length=2048, environment=where, command="attncost doctor"
    )


def test_what_costs_comes_first_and_most_of_all_what_costs_most():
    found = document().findings
    assert [one.key for one in found] == ["doctor_large", "doctor_slow_training"]
    assert found[1].text == (
        "slow_training: a layer that is slow: 1.50 x the time (1.40 to 1.60 x) and 3.00 x the "
        "memory. It waits."
    )
    assert (found[1].values["do"], found[1].values["undo"]) == ("hurry(True)", "hurry(False)")
    assert document(ANSWERS[2:]).findings[0].text == (
        "Nothing is known to cost here: 1 fine, 1 cannot be told."
    )


def test_every_answer_has_a_place_and_every_advice_its_undoing():
    lines = text(document()).splitlines()
    assert max(map(len, lines)) <= 80
    for line in (
        "large: shrink()",
        "undo: grow()",
        "fast: a layer: nothing to gain.",
        "open: noise: it is loud.",
        "other: a model: it has none.",
        "broken: ValueError: no.",
        "late: no time.",
    ):
        assert line in lines
    assert "all: " in next(line for line in lines if line.startswith("fast "))


def test_json_keeps_every_digit_and_holds_no_nan():
    found = json.loads(dumped(document()), parse_constant=lambda name: 1 / 0)
    assert (found["schema"], found["model"], found["length"]) == (
        "attncost.doctor/1",
        "layer",
        2048,
    )
    slow, _, fast, *_ = found["diagnoses"]
    assert (slow["time"]["figure"], slow["memory"], slow["bytes_now"]) == (1.5, 3.0, 300)
    assert fast["time"]["low"] is None
    assert [one["check"] for one in found["diagnoses"]] == [one.check for one in ANSWERS]


def test_a_report_takes_it_as_one_chapter_with_one_finding():
    chapter = doctor_chapter(ANSWERS, command="attncost doctor")
    (finding,) = chapter.findings
    assert (finding.key, finding.command) == ("doctor", "attncost doctor")
    assert finding.text == "Doctor: 2 of 5 cost; large 0.900 x the time, 8.00 x the memory."
    assert finding.values["unanswered"] == 2
    assert (finding.values["costly"], finding.values["checks"]) == (2, 5)
    assert (finding.values["time"]["figure"], finding.values["memory"]) == (0.9, 8.0)
    (table,) = chapter.section.blocks
    names = ["large", "slow_training", "fast", "open", "other", "broken", "late"]
    assert [row[0] for row in table.rows] == names
    assert table.rows[3] == ("open", "cannot tell", None, None, None)
    assert len(chapter.section.text) == len(ANSWERS)
    assert chapter.section.text[0] == (
        "large: a layer that is large: it keeps all. Do: shrink() Undo: grow()"
    )
    assert "Failed: broken: ValueError: no." in chapter.section.text


def test_a_check_counts_once_however_many_of_its_answers_cost():
    slow = ANSWERS[0]
    (finding,) = doctor_chapter([slow, replace(slow, part="evaluation")], command="").findings
    assert finding.text.startswith("Doctor: 1 of 1 cost; slow_training 1.50 x the time")


def test_where_nothing_costs_the_finding_says_that():
    (finding,) = doctor_chapter(ANSWERS[2:5], command="").findings
    assert finding.text == "Doctor: none of 3 checks cost here."


def test_advice_is_text_in_a_page_and_no_markup():
    odd = replace(ANSWERS[0], advice="<b>f</b>(a & b)")
    chapter = doctor_chapter([odd], command="")
    page = html(Document(schema="x/1", title="x", sections=(chapter.section,)))
    assert "&lt;b&gt;f&lt;/b&gt;(a &amp; b)" in page
    assert "<b>f" not in page
    assert "hurry(True)" in html(document())
