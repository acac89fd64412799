"""What every task promises. A new file in `attncost/train/tasks` is tested here unasked."""

import inspect
import math

import pytest
import torch
from torch.nn.functional import cross_entropy

from attncost.core.errors import ShapeError
from attncost.train import tasks
from attncost.train.recipe import Recipe
from attncost.train.tasks.interface import IGNORED

TASKS = [one for name in tasks.names() for one in tasks.load(name).examples()]
USUAL = [tasks.task(name) for name in tasks.names()]
every_task = pytest.mark.parametrize("task", TASKS, ids=str)
every_usual_task = pytest.mark.parametrize("task", USUAL, ids=str)


def rows(batch):
    return list(zip(batch.tokens.tolist(), batch.labels.tolist(), strict=True))


@every_task
def test_a_seed_and_a_step_decide_a_batch_whatever_was_drawn_before(task):
    first = task.drawn(8, seed=1, step=2)
    torch.manual_seed(5)
    task.drawn(3, seed=1, step=1)
    task.held_out(5)
    state = torch.random.get_rng_state()
    assert rows(task.drawn(8, seed=1, step=2)) == rows(first)
    assert torch.equal(torch.random.get_rng_state(), state), "it leaves PyTorch's numbers alone"


@every_usual_task
def test_another_step_and_another_seed_draw_other_sequences(task):
    drawn = [task.drawn(8, seed=seed, step=step) for seed, step in ((0, 0), (0, 1), (1, 0), (1, 1))]
    assert len({str(rows(batch)) for batch in drawn}) == 4


@every_task
def test_tokens_and_labels_are_as_many_and_as_large_as_it_says(task):
    for batch in (task.drawn(7, seed=3, step=0), task.held_out(7)):
        size = len(batch.tokens)
        assert 1 <= size <= 7
        assert batch.tokens.shape == (size, task.length)
        assert batch.labels.shape == (size, 1 if task.pooled else task.length)
        assert batch.tokens.dtype == batch.labels.dtype == torch.int64
        assert 0 <= batch.tokens.min() <= batch.tokens.max() < task.vocabulary
        told = batch.labels[batch.labels != IGNORED]
        assert 0 <= told.min() <= told.max() < task.classes
        assert (batch.labels != IGNORED).any(1).all(), "each sequence asks something"


@every_usual_task
def test_it_uses_all_tokens_and_labels_that_it_declares(task):
    drawn = [task.drawn(64, seed=0, step=step) for step in range(30)]
    tokens = torch.cat([batch.tokens.flatten() for batch in drawn]).unique()
    labels = torch.cat([batch.labels.flatten() for batch in drawn]).unique()
    if task.vocabulary == 256:  # Of all bytes, a text has some.
        assert len(tokens) > 60
        assert set(labels.tolist()) <= set(range(256))
    else:
        assert tokens.tolist() == list(range(task.vocabulary))
        assert labels[labels != IGNORED].tolist() == list(range(task.classes))


@every_task
def test_what_is_held_out_repeats(task):
    assert rows(task.held_out(9)) == rows(task.held_out(9))


@every_usual_task
def test_what_is_held_out_is_never_drawn(task):
    held = {tuple(tokens) for tokens in task.held_out(64).tokens.tolist()}
    for seed in range(3):
        for step in range(20):
            # As many, so that the same source of numbers would give the same sequences.
            drawn = task.drawn(64, seed=seed, step=step).tokens.tolist()
            assert held.isdisjoint(map(tuple, drawn))


@every_task
def test_chance_is_what_equal_odds_score(task):
    labels = torch.arange(task.classes)
    nats = cross_entropy(torch.zeros(task.classes, task.classes), labels)
    chance = nats.item() if task.metric == "nats" else math.exp(-nats.item())
    assert task.chance == pytest.approx(chance, rel=1e-5)


@every_task
def test_it_is_spelled_as_it_is_read(task):
    assert tasks.task(tasks.spelling(task)) == task


@every_task
def test_its_usual_settings_make_a_recipe(task):
    usual = task.usual
    Recipe(steps=usual.steps, batch=usual.batch, learning_rate=usual.learning_rate)


@every_usual_task
def test_documented_and_sourced(task):
    assert task.source
    assert "chance" in (inspect.getdoc(inspect.getmodule(type(task))) or "")


@every_usual_task
@pytest.mark.parametrize(("seed", "step"), [(-1, 0), (0, -1)])
def test_a_negative_seed_or_step_is_refused(task, seed, step):
    with pytest.raises(ShapeError, match=f"must be at least 0, got {seed} and {step}"):
        task.drawn(1, seed=seed, step=step)
