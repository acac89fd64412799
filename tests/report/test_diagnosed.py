import json
import math

from attncost.measure.doctor.interface import Diagnosis
from attncost.measure.sweep.interleaved import Ratio
from attncost.report.diagnosed import doctor_chapter, doctor_document
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


def test_a_report_takes_it_as_one_chapter():
    chapter = doctor_chapter(ANSWERS, command="attncost doctor")
    assert [one.key for one in chapter.findings] == ["doctor_large", "doctor_slow_training"]
    assert "What to do: large: shrink()" in chapter.section.text
    assert "Failed: broken: ValueError: no." in chapter.section.text
    (table,) = chapter.section.blocks
    assert [row[0] for row in table.rows] == ["large", "slow_training", "fast"]
    assert "hurry(True)" in html(document())
