"""Every `attncost` command in a page is one that the command line understands, and it runs."""

import json
import re
import shlex
import shutil

import pytest
from tests.docs.commands import (
    ELSEWHERE,
    GROUP,
    NO,
    in_blocks,
    in_sentences,
    shortened,
    sources,
    spoken,
    to_run,
)
from tests.docs.pages import ROOT
from tests.docs.test_questions import COMPUTED

from attncost.cli import main

IN_BLOCKS = in_blocks()
# Questions run theirs, and compare what they say.
RUN = [line for line in to_run() if line not in {command for command, _ in COMPUTED}]


@pytest.fixture(scope="module")
def run_on_disk(tmp_path_factory):
    """Return the folder of a run of a small layer."""
    folder = tmp_path_factory.mktemp("run") / "layer"
    layer = "layer:d_model=16,heads=2 --attention full --qkv fused --lengths 16,32 --rounds 2"
    assert main(["measure", *layer.split(), "-o", str(folder)]) == 0
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch, run_on_disk):
    """Work in a folder that holds what the commands of pages name."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "model").mkdir()
    shutil.copy(ROOT / "src/attncost/cost/presets/bert-base.json", tmp_path / "model/config.json")
    (tmp_path / "package").mkdir()
    (tmp_path / "package/module.py").write_text(
        "import torch\n\n\ndef factory(length=8, batch=1):\n"
        "    return torch.nn.Linear(8, 8), torch.zeros(batch, length, 8)\n"
    )
    for name, source in sources().items():
        (tmp_path / name).write_text(source)
    rates = {"schema": "attncost.calibration/1", "flops_per_second": 1e11, "bytes_per_second": 1e10}
    (tmp_path / "calibration.json").write_text(json.dumps(rates))
    (tmp_path / "timings.csv").write_text(
        (ROOT / "examples/data/article_timings.csv").read_text(encoding="utf-8")
    )
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)
    return run_on_disk


def test_there_are_commands_to_check():
    assert len(IN_BLOCKS) >= 60
    assert len(RUN) >= 40


@pytest.mark.parametrize(("page", "line"), IN_BLOCKS)
def test_a_command_in_a_block_is_understood(page, line):
    _, name, *arguments = spoken(line)
    command = GROUP.commands.get(name, GROUP.commands["report"])
    assert command.make_context(name, arguments if name in GROUP.commands else [name]).params


def test_a_command_in_a_sentence_and_its_options_exist():
    for page, line in in_sentences():
        _, name, *arguments = shlex.split(line)
        command = GROUP.commands.get(name, GROUP.commands["report"])
        known = {text for one in command.params for text in (*one.opts, *one.secondary_opts)}
        given = {word for word in arguments if re.match("--?[a-z]", word)}
        assert given <= known | {"--help"}, f"{page}: {line}"


@pytest.mark.slow  # a model of 8 billion parameters is counted in 2 to 4 s
@pytest.mark.parametrize("line", RUN, ids=RUN)
def test_a_command_of_a_page_runs(line, here, tmp_path, capsys):
    words = shortened(line)
    if "runs/layer" in words and "-o runs/layer" not in line:
        (tmp_path / "runs/layer").symlink_to(here)
    if words[0] == "check" and "--write" not in words:
        assert main([*words, "--write"]) == 0
    assert main(words) == (1 if line in NO else 0), capsys.readouterr().err
    assert capsys.readouterr().out


@pytest.mark.parametrize("test", sorted(set(ELSEWHERE.values())))
def test_what_is_not_run_here_is_run_where_the_table_says(test):
    (command,) = {
        re.match(r"attncost (\w+)", line)[1] for line, path in ELSEWHERE.items() if path == test
    }
    assert re.search(rf'["\s]{command}["\s]', (ROOT / test).read_text(encoding="utf-8"))
