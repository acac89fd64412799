"""A task is one that full attention learns, and that what cannot reach far enough does not."""

import pytest
import torch

from attncost import Causal, Window
from attncost.train.loop import evaluate, train
from attncost.train.recipe import Recipe
from attncost.train.tasks.interface import IGNORED
from attncost.train.tasks.recall import Recall
from attncost.train.transformer import Sizes, Transformer

TASK = Recall(length=16, pairs=2, keys=4, values=4)
SIZES = Sizes(d_model=32, layers=2, convolution=3)


def score(attention):
    model = Transformer(TASK, attention, SIZES)
    train(model, TASK, Recipe(steps=80, batch=16, learning_rate=2e-2), every=0)
    return evaluate(model, TASK, size=256)


def best_within(reach):
    """Return what is right if a value is known that stands at most so far back, or else guessed."""
    batch = TASK.held_out(256)
    rows, places = (batch.labels != IGNORED).nonzero(as_tuple=True)
    told = batch.tokens[:, :4]
    value = 1 + (told[rows] == batch.tokens[rows, places, None]).int().argmax(1)
    near = places - value <= reach
    return torch.where(near, 1.0, TASK.chance).mean().item()


@pytest.mark.slow  # It trains.
def test_full_attention_learns_to_recall():
    assert score(Causal()) >= 0.95


@pytest.mark.slow  # It trains.
def test_a_window_recalls_no_more_than_it_reaches():
    reach = SIZES.layers * (2 - 1 + SIZES.convolution - 1)
    assert TASK.chance - 0.05 <= score(Window(2)) <= best_within(reach) + 0.05 < 0.75
