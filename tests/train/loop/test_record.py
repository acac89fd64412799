import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from tests.train.small import Ragged
from torch import nn

from attncost import Causal
from attncost.core.errors import StorageError
from attncost.train import checkpoint, log
from attncost.train.loop import train
from attncost.train.recipe import Recipe
from attncost.train.tasks.recall import Recall
from attncost.train.transformer import Sizes, Transformer

# Dials of a real task, as the other process has no other.
TASK = Recall(12, pairs=4, keys=4, values=3)
RECIPE = Recipe(steps=8, batch=4, micro_batches=2, learning_rate=0.02, seed=5)
SIZES = Sizes(d_model=8, layers=1, heads=2)

# Saves after three steps, goes on, and says what it has done until somebody kills it.
KILLED = """
import sys
import time
from pathlib import Path

import torch

from attncost import Causal
from attncost.train.loop import train
from attncost.train.recipe import Recipe
from attncost.train.tasks.recall import Recall
from attncost.train.transformer import Sizes, Transformer

torch.set_num_threads(1)
folder = Path(sys.argv[1])
task = Recall(12, pairs=4, keys=4, values=3)
recipe = Recipe(steps=8, batch=4, micro_batches=2, learning_rate=0.02, seed=5)

def tell(done, total):
    print(done, flush=True)
    if done == 6:
        time.sleep(600)

for until in (3, None):
    model = Transformer(task, Causal(), Sizes(d_model=8, layers=1, heads=2), seed=7)
    train(model, task, recipe, folder=folder, every=2, until=until, progress=tell)
"""


def steps(folder):
    rows = [json.loads(line) for line in (folder / log.FILE).read_text().splitlines()]
    return [row for row in rows if row["kind"] == "step"]


def saved(folder):
    safetensors = pytest.importorskip("safetensors")
    with safetensors.safe_open(folder / checkpoint.FILE, "pt") as opened:
        said = json.loads(opened.metadata()["attncost"])
        return said, {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118


def kept(folder):
    """Return what lies in a folder, beside the lock."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix != ".lock"}


def same(folder, other):
    """Say that two runs have the same rows, weights and states of the optimizer."""
    (said, found), (words, wanted) = saved(folder), saved(other)
    assert said == words
    assert found.keys() == wanted.keys()
    assert len(found) > 50
    assert all(torch.equal(found[name], wanted[name]) for name in found)
    assert steps(folder) == steps(other)


def learned(folder, seed=7, **options):
    model = Transformer(TASK, Causal(), SIZES, seed=seed)
    return model, train(model, TASK, RECIPE, folder=folder, every=2, **options)


@pytest.mark.slow  # another process imports PyTorch
def test_a_run_that_is_killed_goes_on_to_the_last_bit(tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    command = [sys.executable, "-c", KILLED, str(killed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout:
                if line == "6\n":
                    break
            os.kill(process.pid, signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        finally:
            process.kill()
    assert saved(killed)[0]["step"] == 3
    assert len(steps(killed)) == 6
    with (killed / log.FILE).open("a") as file:
        file.write('{"kind": "step", "step": 6, "los')  # as if it had been killed in the midst
    model, found = learned(killed)
    other, expected = learned(whole)
    same(killed, whole)
    assert found == expected
    assert found.notes == ()
    assert len(found.rows) == 8
    assert all(map(torch.equal, model.state_dict().values(), other.state_dict().values()))


def test_a_run_that_was_stopped_is_the_one_that_was_not(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    _, expected = learned(whole)
    for until in (3, 6, None):
        _, found = learned(parts, until=until)
    same(parts, whole)
    assert found == expected
    # And without a folder.
    model = Transformer(TASK, Causal(), SIZES, seed=7)
    assert train(model, TASK, RECIPE, every=2).rows == expected.rows


def test_without_any_checkpoint_but_the_first_all_is_computed_again_and_compared(tmp_path):
    _, expected = learned(tmp_path, until=0)
    first = (tmp_path / checkpoint.FILE).read_bytes()
    _, expected = learned(tmp_path)
    rows = steps(tmp_path)
    (tmp_path / checkpoint.FILE).write_bytes(first)
    _, found = learned(tmp_path)
    assert (found, steps(tmp_path)) == (expected, rows)


def test_a_run_that_is_done_is_read_and_nothing_is_computed(tmp_path):
    _, expected = learned(tmp_path)
    before = kept(tmp_path)
    model, found = learned(tmp_path)
    assert found == expected
    assert kept(tmp_path) == before
    assert torch.equal(model.head.weight, saved(tmp_path)[1]["model.head.weight"])


def test_a_run_goes_on_with_the_weights_that_it_began_with_and_no_others(tmp_path):
    learned(tmp_path, until=4)
    before = kept(tmp_path)
    with pytest.raises(StorageError, match=r"whose embedding.weight is .* and not .*: name"):
        learned(tmp_path, seed=8)
    model = Transformer(TASK, Causal(), SIZES, seed=7)
    with torch.no_grad():
        model.head.weight[0, 0] += 1
    changed = model.head.weight.detach().clone()
    with pytest.raises(StorageError, match=r"whose head.weight is .* and not"):
        train(model, TASK, RECIPE, folder=tmp_path)
    assert torch.equal(model.head.weight, changed)
    assert kept(tmp_path) == before


def test_a_folder_whose_log_is_refused_is_left_alone_and_so_is_the_model(tmp_path):
    for content in (b'{"theirs": 1}', b'{"theirs": 1}\n{"theirs": 2}'):
        (tmp_path / log.FILE).write_bytes(content)
        with pytest.raises(StorageError, match="line 1: must have the schema"):
            learned(tmp_path)
        assert kept(tmp_path) == {log.FILE: content}
    (tmp_path / log.FILE).unlink()
    learned(tmp_path, until=4)
    (tmp_path / log.FILE).unlink()
    model, before = (Transformer(TASK, Causal(), SIZES, seed=7) for _ in range(2))
    with pytest.raises(StorageError, match="holds 0 steps, and the checkpoint beside it 4"):
        train(model, TASK, RECIPE, folder=tmp_path)
    assert kept(tmp_path).keys() == {checkpoint.FILE}
    assert all(map(torch.equal, model.parameters(), before.parameters()))


def test_without_its_checkpoint_a_log_goes_on_with_its_own_run_alone(tmp_path):
    _, expected = learned(tmp_path)
    (tmp_path / checkpoint.FILE).unlink()
    before = kept(tmp_path)
    recipe = replace(RECIPE, learning_rate=0.5)
    with pytest.raises(StorageError, match=r"log.jsonl .* learning_rate is 0.02 and not 0.5"):
        train(Transformer(TASK, Causal(), SIZES, seed=7), TASK, recipe, folder=tmp_path)
    assert kept(tmp_path) == before
    assert learned(tmp_path)[1] == expected


def test_layers_may_be_looked_at_more_or_less_often(tmp_path):
    learned(tmp_path, until=0)
    first = (tmp_path / checkpoint.FILE).read_bytes()
    learned(tmp_path)
    (tmp_path / checkpoint.FILE).write_bytes(first)
    model = Transformer(TASK, Causal(), SIZES, seed=7)
    assert train(model, TASK, RECIPE, folder=tmp_path, every=3).notes == ()


def test_a_run_that_diverged_does_so_again_and_is_not_written_twice(tmp_path):
    recipe = replace(RECIPE, learning_rate=1e30, clip=None, warmup=0.0)
    for _ in range(2):
        found = train(Transformer(TASK, Causal(), SIZES), TASK, recipe, folder=tmp_path)
        assert found.diverged
        last = steps(tmp_path)[-1]
        assert (last["step"], last["loss"]) == (found.rows[-1].step, "nan")
        assert saved(tmp_path)[0]["step"] == last["step"]
    assert len(steps(tmp_path)) == len(found.rows)


def test_running_statistics_and_the_scale_of_the_loss_go_on_too(tmp_path):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.table, self.norm = nn.Embedding(7, 7), nn.BatchNorm1d(9)

        def forward(self, tokens):
            return self.norm(nn.functional.dropout(self.table(tokens), 0.3, self.training))

    recipe, found = replace(RECIPE, autocast="float16"), []
    for folder, stops in ((tmp_path / "whole", (None,)), (tmp_path / "parts", (4, None))):
        for until in stops:
            model = Counting()
            rows = train(model, Ragged(), recipe, folder=folder, until=until).rows
        found.append((rows, saved(folder)))
    (rows, (said, tensors)), (others, (words, wanted)) = found
    assert rows == others
    assert said == words
    assert said["scaler"]["_growth_tracker"] == 8
    assert all(torch.equal(tensors[name], wanted[name]) for name in wanted)
    assert not torch.equal(tensors["model.norm.running_mean"], torch.zeros(9))


def test_a_row_that_somebody_changed_is_named(tmp_path):
    learned(tmp_path)
    text = (tmp_path / log.FILE).read_text()
    (tmp_path / log.FILE).write_text(text.replace('"loss": ', '"lost": ', 1))
    with pytest.raises(StorageError, match=r"^step 0 of the log in .* is no row \(KeyError"):
        learned(tmp_path)


def test_what_is_learned_is_saved_on_the_way(tmp_path, monkeypatch):
    seen = []

    def tell(done, _):
        seen.append(saved(tmp_path)[0]["step"])

    monkeypatch.setattr(checkpoint, "_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "_SHARE", 1.0)
    learned(tmp_path, progress=tell)
    assert seen[0] == 0
    assert len({*seen}) > 2
    assert all(step <= done for done, step in enumerate(seen))
