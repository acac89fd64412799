import json
import sys
from dataclasses import replace

import pytest
import torch
from tests.train.small import SIZES, Either, Ragged
from torch import nn
from torch.amp.grad_scaler import GradScaler

from attncost import Causal, Window
from attncost.core.errors import StorageError, UnsupportedOption
from attncost.train.checkpoint import FILE, SCHEMA, Pace, Trainee, read, restore, save
from attncost.train.identity import identity
from attncost.train.recipe import Recipe, optimizer
from attncost.train.transformer import Transformer

RECIPE = Recipe(steps=9)
RUN = {"task": "recall"}
TASK, READ = Ragged(), Causal()


class Odd(nn.Module):
    """Holds a tied weight, one of a turned layout, two that share memory, a number and a buffer."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.table.weight
        self.turned = nn.Parameter(torch.randn(3, 2).T)
        halves = torch.randn(6)
        self.part, self.part_too = nn.Parameter(halves[2:5]), nn.Parameter(halves[3:])
        self.register_buffer("count", torch.tensor(3))
        self.register_buffer("passing", torch.ones(2), persistent=False)


def trainee(model=None, *, enabled=False):
    model = Odd() if model is None else model
    return Trainee(model, optimizer(model, RECIPE), GradScaler("cpu", enabled=enabled))


def load(folder, learner, run):
    """Read a checkpoint into a learner; return how many steps are done."""
    found = read(folder, learner, run)
    if found is not None:
        restore(learner, found)
    return None if found is None else found.step


def trained(learner, steps=2):
    for step in range(steps):
        for weight in learner.model.parameters():
            weight.grad = torch.full_like(weight, step + 0.5)
        learner.optimizer.step()
    return learner


def everything(learner):
    states = learner.optimizer.state_dict()["state"]
    return {
        **learner.model.state_dict(),
        **{f"{i} {name}": x for i, state in states.items() for name, x in state.items()},
    }


def test_all_comes_back_to_the_last_bit(tmp_path):
    before, after = trained(trainee()), trainee()
    before.model.count += 4
    save(tmp_path, before, RUN, step=2)
    assert load(tmp_path, after, RUN) == 2
    wanted, found = everything(before), everything(after)
    assert wanted.keys() == found.keys()
    assert len(wanted) == 6 + 4 * 3
    assert all(torch.equal(wanted[name], found[name]) for name in wanted)
    assert after.model.head.weight is after.model.table.weight
    wanted, found = (everything(trained(one)) for one in (before, after))
    assert all(torch.equal(wanted[name], found[name]) for name in wanted)  # and goes on alike


def test_the_scale_of_a_loss_comes_back(tmp_path):
    before, after = trainee(enabled=True), trainee(enabled=True)
    before.scaler.scale(torch.ones(()))
    before.scaler.update(2.0**-3)
    save(tmp_path, before, RUN, step=1)
    load(tmp_path, after, RUN)
    assert after.scaler.get_scale() == 2.0**-3


def test_other_programs_read_it(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    learner = trained(trainee())
    save(tmp_path, learner, RUN, step=2)
    found = safetensors.load_file(tmp_path / FILE)
    assert torch.equal(found["model.table.weight"], learner.model.table.weight)
    assert "model.head.weight" not in found  # it is the table
    assert found["model.part"].shape == (3,)
    assert found["optimizer.0.step"] == 2


def test_without_a_checkpoint_nothing_is_read(tmp_path):
    assert load(tmp_path, trainee(), RUN) is None


def test_a_later_one_takes_the_place_of_the_one_before(tmp_path):
    (tmp_path / f"{FILE}.part").write_bytes(b"of a process that was killed")
    for step in (1, 2):
        save(tmp_path, trainee(), RUN, step=step)
    assert load(tmp_path, trainee(), RUN) == 2
    assert [file.name for file in tmp_path.iterdir()] == [FILE]


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(tmp_path):
    save(tmp_path, trainee(), RUN, step=1)
    (tmp_path / f"{FILE}.part").mkdir()
    with pytest.raises(StorageError, match=r"cannot be written \(.*Is a directory"):
        save(tmp_path, trainee(), RUN, step=2)
    assert load(tmp_path, trainee(), RUN) == 1


def run_of(task=TASK, attention=READ, recipe=RECIPE, sizes=SIZES, optimize=optimizer):
    model = Transformer(task, attention, sizes)
    learner = Trainee(model, optimize(model, recipe), GradScaler("cpu", enabled=False))
    return learner, identity(model, learner.optimizer, task, recipe)


def sgd(model, recipe):
    return torch.optim.SGD(model.parameters(), lr=recipe.learning_rate)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            {"recipe": replace(RECIPE, learning_rate=0.5)},
            "whose learning_rate is 0.003 and not 0.5: name another folder",
        ),
        ({"recipe": replace(RECIPE, seed=1)}, "whose seed is 0 and not 1"),
        ({"recipe": replace(RECIPE, betas=(0.5, 0.5))}, r"betas is \[0.9, 0.95\] and not \[0.5"),
        ({"task": Either()}, r"whose task is Ragged\(\) and not Either\(\)"),
        ({"attention": Window(4)}, r"whose model is Causal\(\), .*and not Window\(width=4"),
        ({"sizes": replace(SIZES, layers=3)}, r"model is \(0-1\): .* and not \(0-2\)"),
        ({"optimize": sgd}, r"whose optimizer is AdamW \( and not SGD \("),
    ],
    ids=["rate", "seed", "betas", "task", "attention", "layers", "optimizer"],
)
def test_another_run_is_refused_by_what_differs(tmp_path, other, message):
    save(tmp_path, *run_of(), step=1)
    learner, run = run_of(**other)
    before = learner.model.head.weight.detach().clone()
    with pytest.raises(StorageError, match=message) as caught:
        load(tmp_path, learner, run)
    assert "\n" not in str(caught.value)
    assert torch.equal(learner.model.head.weight, before)


def test_the_same_run_is_taken_wherever_its_parts_lie_in_memory(tmp_path):
    class Nameless:
        """Is shown by its address."""

    for save_or_load in (lambda *run: save(*run, step=1), load):
        learner, _ = run_of()
        run = identity(learner.model, learner.optimizer, Nameless(), RECIPE)
        done = save_or_load(tmp_path, learner, run)
    assert done == 1


def test_tensors_of_another_type_or_name_are_refused(tmp_path):
    save(tmp_path, trainee(), RUN, step=1)
    with pytest.raises(
        StorageError, match=r"model.turned is torch.float32 \(2, 3\) and not torch.float64"
    ):
        load(tmp_path, trainee(Odd().double()), RUN)
    more, fewer = Odd(), Odd()
    more.extra, fewer.turned = nn.Parameter(torch.ones(2)), None
    with pytest.raises(StorageError, match=r"model.extra is missing and not torch.float32 \(2,\)"):
        load(tmp_path, trainee(more), RUN)
    with pytest.raises(StorageError, match=r"model.turned is torch.float32 .* and not missing"):
        load(tmp_path, trainee(fewer), RUN)


def test_a_torn_file_is_refused_at_any_length(tmp_path):
    save(tmp_path, trainee(), RUN, step=1)
    whole = (tmp_path / FILE).read_bytes()
    for length in (0, 5, 200, len(whole) - 1):
        (tmp_path / FILE).write_bytes(whole[:length])
        with pytest.raises(StorageError, match="is no whole checkpoint") as caught:
            load(tmp_path, trainee(), RUN)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "metadata", [None, {"attncost": "{}"}, {"attncost": "[]"}, {"format": "pt"}], ids=str
)
def test_a_file_of_others_is_refused(tmp_path, metadata):
    safetensors = pytest.importorskip("safetensors.torch")
    safetensors.save_file({"x": torch.ones(2)}, tmp_path / FILE, metadata)
    with pytest.raises(StorageError, match=f"is no checkpoint of {SCHEMA}"):
        load(tmp_path, trainee(), RUN)


def test_reading_changes_nothing(tmp_path):
    save(tmp_path, trained(trainee()), RUN, step=2)
    learner = trained(trainee(), steps=1)
    before = {name: x.clone() for name, x in everything(learner).items()}
    assert read(tmp_path, learner, RUN).step == 2
    after = everything(learner)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in after)


def rewritten(folder, change):
    """Write a checkpoint again after a change of its header and tensors."""
    safetensors = pytest.importorskip("safetensors.torch")
    with safetensors.safe_open(folder / FILE, "pt") as opened:
        said = json.loads(opened.metadata()["attncost"])
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    change(said, tensors)
    safetensors.save_file(tensors, folder / FILE, {"attncost": json.dumps(said)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda _, tensors: tensors.update({"optimizer.0.exp_avg": torch.ones(1)}),
            r"where optimizer.0.exp_avg is torch.float32 \(1,\) and not torch.float32 \(2, 3\)",
        ),
        (
            lambda _, tensors: tensors.pop("optimizer.3.step"),
            r"where optimizer.3.step is missing and not torch.float32 \(\)",
        ),
        (lambda said, _: said.pop("task"), "whose task is missing and not recall"),
        (lambda said, _: said.pop("step"), f"is no checkpoint of {SCHEMA}"),
        (lambda said, _: said.pop("scaler"), f"is no checkpoint of {SCHEMA}"),
        (lambda said, _: said.pop("states"), f"is no checkpoint of {SCHEMA}"),
        (lambda said, _: said.update(step="two"), f"is no checkpoint of {SCHEMA}"),
    ],
    ids=["shape", "state", "task", "step", "scaler", "states", "no number"],
)
def test_a_checkpoint_that_lacks_something_is_refused(tmp_path, change, message):
    save(tmp_path, trained(trainee()), RUN, step=2)
    rewritten(tmp_path, change)
    with pytest.raises(StorageError, match=message):
        read(tmp_path, trainee(), RUN)


def test_what_is_no_tensor_is_refused(tmp_path):
    class Worded(nn.Linear):
        def get_extra_state(self):
            return {"word": 1}

        def set_extra_state(self, state): ...

    with pytest.raises(UnsupportedOption, match=r"^_extra_state of the model is a dict"):
        save(tmp_path, trainee(Worded(2, 2)), RUN, step=0)
    learner = trained(trainee())
    learner.optimizer.state[learner.model.part]["words"] = "one"
    with pytest.raises(UnsupportedOption, match=r"^words of AdamW is a str"):
        save(tmp_path, learner, RUN, step=0)


def test_without_safetensors_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(UnsupportedOption, match=r"pip install 'attncost\[train\]'"):
        save(tmp_path, trainee(), RUN, step=0)


def test_saving_takes_less_than_a_fiftieth_of_the_time_and_no_second_is_lost_without_need():
    now, saving, working, saves = 0.0, 0.0, 0, []
    pace = Pace(lambda: now)
    while now < 1000:
        if pace.due:
            with pace.saving():
                now += (cost := 0.001 if now < 100 else 3.0)
            saving += cost
            saves.append(now)
        now += 0.25  # a step
        working += 0.25
    assert saving / (saving + working) < 0.02 + 3 / 1000
    assert saves[1] - saves[0] == pytest.approx(1, abs=0.3)
    assert saves[-1] - saves[-2] == pytest.approx(153, abs=0.3)
