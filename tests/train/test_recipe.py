import math

import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from attncost.core.errors import ShapeError
from attncost.train.recipe import Recipe, optimizer


@pytest.mark.parametrize(
    ("steps", "warmup", "floor"), [(100, 0.1, 0.1), (37, 0.3, 0.0), (20, 0.05, 1.0)]
)
def test_rates_are_those_of_the_schedulers_of_pytorch(steps, warmup, floor):
    recipe = Recipe(steps=steps, warmup=warmup, floor=floor, learning_rate=0.3)
    warming = round(warmup * steps)
    sgd = torch.optim.SGD([nn.Parameter(torch.zeros(()))], lr=0.3)
    growing = LinearLR(sgd, start_factor=1 / warming, total_iters=warming - 1)
    falling = CosineAnnealingLR(sgd, T_max=steps - 1 - warming, eta_min=0.3 * floor)
    both = SequentialLR(sgd, [growing, falling], [warming])
    for step in range(steps):
        assert math.isclose(recipe.rate(step), sgd.param_groups[0]["lr"], rel_tol=1e-9), step
        sgd.step()
        both.step()


def test_without_a_warm_up_the_peak_comes_first_and_the_floor_last():
    recipe = Recipe(steps=9, warmup=0.0, floor=0.25, learning_rate=2.0)
    assert recipe.rate(0) == 2.0
    assert recipe.rate(8) == 0.5
    assert recipe.rate(4) == pytest.approx(1.25)  # half way between both


def test_a_warm_up_may_take_all_steps_and_a_run_may_have_one():
    assert [Recipe(steps=4, warmup=1.0, learning_rate=1.0).rate(i) for i in range(4)] == [
        0.25,
        0.5,
        0.75,
        1.0,
    ]
    assert Recipe(steps=1, learning_rate=1.0).rate(0) == 1.0


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 4)
        self.up = nn.Linear(4, 4)
        self.frozen = nn.Linear(4, 4)
        self.frozen.requires_grad_(False)
        self.norm = nn.LayerNorm(4)
        self.filter = nn.Conv1d(4, 4, 3)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.table.weight


def test_matrices_decay_and_nothing_else():
    model = Tied()
    decaying, others = optimizer(model, Recipe(steps=1, weight_decay=0.3)).param_groups
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.3, 0)
    names = {id(weight): name for name, weight in model.named_parameters()}
    assert [names[id(weight)] for weight in decaying["params"]] == ["up.weight", "filter.weight"]
    assert [names[id(weight)] for weight in others["params"]] == [
        "table.weight",
        "up.bias",
        "norm.weight",
        "norm.bias",
        "filter.bias",
    ]


def test_where_no_gradient_comes_a_matrix_shrinks_by_its_decay_alone():
    model = nn.Linear(3, 2)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    adamw = optimizer(model, Recipe(steps=1, learning_rate=0.5, weight_decay=0.1))
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    adamw.step()
    torch.testing.assert_close(model.weight.detach(), before["weight"] * (1 - 0.5 * 0.1))
    assert torch.equal(model.bias, before["bias"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": 0}, "steps must be at least 1, got 0."),
        ({"batch": 0}, "batch must be at least 1"),
        ({"seed": -1}, "seed must be at least 0, got -1."),
        ({"batch": 2, "micro_batches": 3}, "2 sequences cannot be cut into 3 micro_batches."),
        ({"warmup": 1.5}, r"warmup must lie in \[0, 1\], got 1.5."),
        ({"floor": -0.1}, r"floor must lie in \[0, 1\]"),
        ({"learning_rate": math.nan}, "learning_rate must be positive and finite, got nan."),
        ({"weight_decay": -1.0}, "weight_decay must be at least 0 and finite, got -1.0."),
        ({"betas": (0.9, 1.0)}, r"betas must be two numbers in \[0, 1\), got \(0.9, 1.0\)."),
        ({"clip": 0.0}, "clip must be positive and finite, or None, got 0.0."),
        ({"clip": math.inf}, "clip must be positive and finite, or None, got inf."),
        ({"clip": math.nan}, "clip must be positive and finite, or None, got nan."),
    ],
)
def test_what_is_out_of_its_range_is_refused(wrong, message):
    with pytest.raises(ShapeError, match=message):
        Recipe(**{"steps": 10, **wrong})
