"""The chapter of a report on cheaper attention: there where weights are, else with a reason."""

import json
import shlex
from dataclasses import asdict

import pytest

from attncost.cli import main
from attncost.cli._swapped_in import affordable, with_quality
from attncost.measure.subjects.target import target
from attncost.report.findings import report
from attncost.report.material import Material

LINES = ["The cat sat on the mat.", "A dog ran to the sea and back.", "It was not here at all."]


def test_a_model_with_weights_has_the_chapter_and_its_numbers(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    chosen = target("demo")
    material = with_quality(Material(), chosen, text=tmp_path / "text.txt")
    made = report(chosen, material, command="attncost report demo", formulas="")
    (section,) = [one for one in made.sections if one.title == "What cheaper attention changes"]
    assert "text.txt: 3 lines of 9 to 11 tokens." in section.text
    swapped = made.facts["quality"]["compared"]["swapped"]
    kinds = [row[0].partition(" ")[0] for row in section.blocks[0].table.rows]
    assert kinds == [one["kind"] for one in swapped] == ["window", "longformer", "bigbird"]
    assert made.facts["quality"]["compared"]["alone"] == ()


def test_the_command_of_the_chapter_makes_the_same_table(tmp_path, capsys):
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    made = with_quality(Material(), target("demo"), text=tmp_path / "text.txt").quality
    program, *arguments = shlex.split(made.command)
    assert program == "attncost"
    assert main([*arguments, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["compared"] == json.loads(json.dumps(asdict(made.found)))


@pytest.mark.parametrize("model", ["layer:d_model=32,heads=2", "llama-3-8b"])
def test_a_model_without_weights_has_the_reason(model):
    material = with_quality(Material(), target(model), text=None)
    assert material.quality is None
    (missing,) = material.missing
    assert missing.startswith(
        f"What cheaper attention changes: {target(model).name} has no weights"
    )


def test_a_model_that_would_take_long_is_left_out():
    assert affordable(target("llama-3-8b"), 512) == 0
    # 500 GFLOPs in 5 runs, where a text of 512 tokens takes 13.3 GFLOPs, and one of 8 hardly any.
    assert affordable(target("demo"), 512) == 7
    assert affordable(target("demo"), 8) == 32
