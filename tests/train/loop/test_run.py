from dataclasses import replace

import pytest
import torch
from tests.train.small import SIZES, Ragged
from torch import nn

from attncost import Causal
from attncost.core.errors import ShapeError
from attncost.train.loop import train
from attncost.train.recipe import Recipe
from attncost.train.transformer import Transformer

RECIPE = Recipe(steps=4, batch=5)


class Failing(nn.Module):
    """Draws random numbers and then fails."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 7)
        self.table.eval()

    def forward(self, tokens):
        torch.rand(3)
        assert self.table.training
        raise RuntimeError("at work")


def test_generators_modes_and_gradients_are_as_before_also_after_an_error():
    model, state = Failing(), torch.get_rng_state()
    with pytest.raises(RuntimeError, match="at work"), torch.no_grad():
        train(model, Ragged(), RECIPE)
    assert torch.equal(torch.get_rng_state(), state)
    assert (model.training, model.table.training) == (True, False)
    assert torch.is_grad_enabled()


def test_a_model_is_trained_where_no_gradients_are_recorded_and_keeps_none():
    model, state = Transformer(Ragged(), Causal(), SIZES).eval(), torch.get_rng_state()
    before = model.head.weight.detach().clone()
    with torch.no_grad():
        train(model, Ragged(), RECIPE)
    assert not torch.equal(model.head.weight, before)
    assert not any(module.training for module in model.modules())
    assert all(weight.grad is None for weight in model.parameters())
    assert torch.equal(torch.get_rng_state(), state)


def test_gradients_of_before_are_not_learned_from():
    fresh, used = (Transformer(Ragged(), Causal(), SIZES) for _ in range(2))
    used(torch.zeros(1, 9).long()).sum().backward()
    for model in (fresh, used):
        train(model, Ragged(), RECIPE)
    assert torch.equal(fresh.head.weight, used.head.weight)


def test_progress_is_told_from_the_start_to_the_end(tmp_path):
    told = []

    def progress(*given):
        told.append(given)

    def go_on(until=None):
        model = Transformer(Ragged(), Causal(), SIZES)
        train(model, Ragged(), RECIPE, folder=tmp_path, until=until, progress=progress)

    go_on(until=2)
    assert told == [(0, 2), (1, 2), (2, 2)]
    told.clear()
    go_on()
    assert told == [(2, 4), (3, 4), (4, 4)]


def test_a_run_may_end_before_its_first_step():
    assert train(Transformer(Ragged(), Causal(), SIZES), Ragged(), RECIPE, until=0).rows == ()
    assert not train(Transformer(Ragged(), Causal(), SIZES), Ragged(), RECIPE, until=0).diverged


def test_the_recipe_sets_the_rate_of_whatever_optimizer_there_is():
    rates = []

    class Watched(torch.optim.SGD):
        def step(self, closure=None):
            rates.extend(group["lr"] for group in self.param_groups)
            return super().step(closure)

    rows = train(
        Transformer(Ragged(), Causal(), SIZES),
        Ragged(),
        replace(RECIPE, warmup=0.5),
        optimize=lambda model, recipe: Watched(model.parameters(), lr=123),
    ).rows
    assert rates == [row.rate for row in rows] == [0.0015, 0.003, 0.003, pytest.approx(0.0003)]


@pytest.mark.parametrize("wrong", [{"every": -1}, {"until": -1}])
def test_steps_below_0_are_refused(wrong):
    with pytest.raises(ShapeError, match="must be at least 0"):
        train(Transformer(Ragged(), Causal(), SIZES), Ragged(), RECIPE, **wrong)


def test_a_model_that_cannot_learn_is_refused():
    with pytest.raises(ShapeError, match="nothing can learn"):
        train(nn.Linear(2, 2).requires_grad_(False), Ragged(), RECIPE)
    with pytest.raises(ShapeError, match="nothing can learn"):
        train(nn.ReLU(), Ragged(), RECIPE)
