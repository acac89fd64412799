"""Optimizers by name are PyTorch's own, and keep what their names say."""

import pytest
import torch

from attncost.core.errors import UnknownName
from attncost.cost.planning.situation import STATES
from attncost.integrations.optimizers import optimizer


@pytest.mark.parametrize("name", STATES)
def test_every_optimizer_of_a_plan_keeps_as_many_numbers_as_the_plan_says(name):
    parameter = torch.nn.Parameter(torch.ones(3, 5))
    steps = optimizer(name)([parameter])
    parameter.grad = torch.ones_like(parameter)
    steps.step()
    kept = [x for x in steps.state[parameter].values() if torch.is_tensor(x) and x.ndim == 2]
    assert len(kept) == STATES[name]


def test_a_typo_is_answered_with_the_nearest_name():
    with pytest.raises(UnknownName, match="did you mean 'adamw'"):
        optimizer("adamv")
