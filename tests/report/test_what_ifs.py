"""What if: a row says what its own command prints."""

import json
import shlex

import pytest

from attncost.cli import main
from attncost.cost.reading import preset, presets
from attncost.report.what_ifs import GIB, what_ifs

NAME = "llama-3-8b"


def rows(name=NAME, length=8192):
    chapter = what_ifs(name, preset(name), length=length)
    (table,) = chapter.section.blocks
    return {row[0]: row for row in table.rows}


@pytest.mark.parametrize(
    "what",
    [
        "2 x the length",
        "32 sequences",
        "everything in float32",
        "a step of training by AdamW",
        "the same with checkpointing",
    ],
)
def test_the_command_of_a_row_prints_its_numbers(what, capsys):
    _, flops, _, held, _, fits, command = rows()[what]
    words = shlex.split(command)
    assert main([*words[1:], "--json"]) == (1 if fits == "none" else 0)
    found = json.loads(capsys.readouterr().out)
    (tried,) = [one for one in found["tables"] if one["title"].startswith("What if")]
    assert tried["rows"][0][1] == held
    assert tried["rows"][0][4] == flops
    device = found["memory"] / GIB
    assert (held <= found["memory"]) is (fits != "none")
    assert fits in (f"{device:.0f} GiB", "none")


def test_ratios_are_of_the_same_call_as_it_is():
    found = rows()
    own = found["as it is: 8,192 tokens"]
    assert own[2] == own[4] == 1
    assert found["8 sequences"][1] == 8 * own[1]
    assert found["everything in float32"][3] == pytest.approx(2 * own[3], rel=1e-2)


@pytest.mark.parametrize("name", presets())
def test_every_preset_has_an_answer(name):
    length = preset(name).longest or 8192
    found = rows(name, length)
    assert len(found) >= 5
    assert all(row[1] > 0 and row[3] > 0 for row in found.values())
