"""What is said of a profile is what was found, in 80 columns and in every digit."""

import json

from attncost.measure.attribution.overhead import Overhead
from attncost.measure.attribution.profiled import ModuleTime, OperatorTime, PartTime, Profile
from attncost.measure.sweep.interleaved import Ratio
from attncost.report.plain import dumped
from attncost.report.profiled import Profiled, profile_document
from attncost.report.text import text

LONG = "aten::_scaled_dot_product_flash_attention_for_cpu"


def module(name, kind, own, whole):
    return ModuleTime(
        name=name,
        kind=kind,
        calls=1,
        self_seconds=own,
        total_seconds=whole,
        backward_seconds=0,
        share=own / 10,
    )


def operator(name, own):
    return OperatorTime(
        name=name, shapes="", calls=2, self_seconds=own, total_seconds=own, share=own / 10
    )


def part(name, seconds):
    return PartTime(name=name, seconds=seconds, share=seconds / 10)


LAYERS = [module(f"layers.{i}", "Block", 0.5, 1.5) for i in range(4)]
INNER = [module(f"layers.{i}.mlp", "MLP", 1.0, 1.0) for i in range(4)]
FOUND = Profile(
    name="Model",
    device="cpu",
    threads=1,
    training=True,
    rounds=4,
    seconds=10.0,
    by_operator=(operator(LONG, 3.0), *(operator(f"aten::op{i}", 0.25) for i in range(16))),
    by_module=(
        module("", "Model", 3.0, 9.0),
        module("layers", "ModuleList", 0, 6),
        *(one for pair in zip(LAYERS, INNER, strict=True) for one in pair),
    ),
    by_kind=(part("attention", 3.0), part("other operators", 4.0), part("between operators", 3.0)),
    elsewhere=(part("outside of every module", 1.0),),
    overhead=Overhead(Ratio(1.25, 1.1, 1.5, 15), 8.0, "process CPU time"),
    notes=("calls differ: a note.",),
)


def document(found=FOUND, **more):
    sizes = {"length": 64, "batch": 2} | more
    return profile_document(Profiled(name="demo", found=found, command="attncost profile", **sizes))


def table(title):
    blocks = [block for section in document().sections for block in section.blocks]
    return next(one for one in blocks if one.title == title)


def test_it_says_where_time_goes_how_long_a_call_takes_and_what_the_profiler_costs():
    found = document()
    assert found.title == "demo (Model): 2 sequences of 64 tokens, forward and backward"
    assert [one.text for one in found.findings] == [
        "40.0 % other operators, 30.0 % attention, 30.0 % between operators",
        "8.00 s a call without the profiler (process CPU time)",
        "1.25 x as long with it (1.10-1.50, 15 rounds)",
    ]
    assert found.sections[-1].text == ("attncost profile",)
    assert document(length=None, batch=None).title.endswith("its own inputs, forward and backward")


def test_layers_of_one_class_take_one_line_and_their_times_add_up():
    rows = {row[0]: row[1:] for row in table("Time of each module").rows}
    assert rows["the whole"] == (None, 9.0, 3.0, 0.9)
    assert rows["layers.0-3"] == (4, 6.0, 2.0, 0.6)
    assert rows["  mlp"] == (4, 4.0, 4.0, 0.4)
    assert rows["outside of every module"] == (None, 1.0, 1.0, 0.1)
    assert sum(row[2] for row in rows.values()) == FOUND.seconds


def test_few_operators_are_shown_and_the_rest_is_one_line():
    rows = table("Time of each operator").rows
    assert len(rows) == 12 + 2
    assert rows[0][0] == "aten::_scaled_dot_p...sh_attention_for_cpu"
    assert rows[-2][:2] == ("5 more", 10)
    assert sum(row[2] for row in rows) == FOUND.seconds


def test_it_fits_a_terminal_and_its_notes_are_shown():
    printed = text(document(trace="trace.json"))
    assert max(map(len, printed.splitlines())) <= 80
    assert "calls differ: a note." in printed
    assert printed.splitlines()[-1] == "Open trace.json in ui.perfetto.dev."


def test_json_has_every_module_operator_and_digit():
    found = json.loads(dumped(document()))
    assert found["schema"] == "attncost.profile/1"
    assert (found["seconds"], found["alone_seconds"], found["attention_share"]) == (10, 8, 0.3)
    assert found["overhead"] == {"figure": 1.25, "low": 1.1, "high": 1.5, "rounds": 15}
    assert [one["name"] for one in found["modules"]] == [one.name for one in FOUND.by_module]
    assert len(found["operators"]) == len(FOUND.by_operator)
    parts = sum(one["self_seconds"] for one in found["modules"])
    assert parts + sum(one["seconds"] for one in found["elsewhere"]) == found["seconds"]
