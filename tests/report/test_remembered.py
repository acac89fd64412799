"""What is said of memory is what was found: parts make the whole, modules hold what is in them."""

import pytest

from attncost.cost.memory.footprint import PARTS, Footprint
from attncost.report.remembered import Held, memory_chapter, memory_facts, memory_sections

MODULES = {
    "": "Model",
    "layers": "ModuleList",
    "layers.0": "Block",
    "layers.0.mlp": "MLP",
    "layers.1": "Block",
    "layers.1.mlp": "MLP",
    "layers.2": "Block",
    "layers.2.mlp": "MLP",
    "out": "Linear",
    "unused": "Linear",
}
KEPT = {**{f"layers.{i}.mlp": 100 for i in range(3)}, "layers.1": 50, "out": 7, "": 3}


def footprint(kept=KEPT, at_least=(), phase="backward"):
    return Footprint(
        name="Model",
        device="cpu",
        by_part=dict.fromkeys(PARTS, 0) | {"parameters": 600, "gradients": 300, "temporaries": 100},
        kept=kept,
        phase=phase,
        module="layers.1.mlp",
        operation="aten::mm",
        at_least=at_least,
    )


def sections(found, *, training=True, depth=None):
    return memory_sections(found, MODULES, training=training, depth=depth, command="c")


def test_parts_make_the_whole_and_empty_ones_are_left_out():
    (table,) = sections(footprint())[0].blocks
    assert table.rows == (
        ("parameters", 600, 0.6),
        ("gradients", 300, 0.3),
        ("temporaries", 100, 0.1),
        ("together", 1000, 1.0),
    )


def test_modules_keep_what_the_modules_in_them_keep_and_those_alike_take_one_line():
    (table,) = sections(footprint())[1].blocks
    assert table.rows == (
        ("the whole", None, 360, 1.0),
        ("layers.0,2", 2, 100, 200 / 360),
        ("layers.0-2.mlp", 3, 100, 300 / 360),
        ("layers.1", None, 150, 150 / 360),
        ("out", None, 7, 7 / 360),
    )
    (shallow,) = sections(footprint(), depth=1)[1].blocks
    assert [row[0] for row in shallow.rows] == ["the whole", "layers.0,2", "layers.1", "out"]


def test_when_where_and_how_surely_are_said():
    text = sections(footprint())[0].text
    assert text[0] == "Most is held in the backward pass, in layers.1.mlp (aten::mm)."
    assert text[1].startswith("Exact")
    assert "a loss outside of the model takes more" in text[2]
    bound = sections(footprint(at_least=("aten::x may hold more.",)), training=False)[0].text
    assert bound[1:] == ("At least so much, on a CPU: aten::x may hold more.",)


def test_what_keeps_nothing_has_no_table_of_modules():
    assert len(sections(footprint(kept={}))) == 1


def test_plain_data_has_every_byte():
    found = memory_facts(footprint(at_least=("more.",)))
    assert (found["peak"], found["exact"], found["kept"]) == (1000, False, KEPT)


@pytest.mark.parametrize(("length", "said"), [(64, "of 64 tokens"), (None, "its own inputs")])
def test_a_chapter_has_a_table_with_its_command_for_each_work(length, said):
    held = (
        Held("one forward pass", footprint(phase="forward"), "c1"),
        Held("one step", footprint(at_least=("more.",)), "c2"),
    )
    section = memory_chapter(held, name="a model", length=length).section
    assert [(table.title, table.command) for table in section.blocks] == [
        ("Memory by part: one forward pass", "c1"),
        ("Memory by part: one step", "c2"),
    ]
    assert said in section.text[0]
    assert section.text[2].startswith("One step: at least 1000 B.")
