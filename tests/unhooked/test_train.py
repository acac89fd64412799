"""Training where the hook would check types first, or where code is compiled."""

import numpy as np
import pytest
import torch
from tests.train.small import Ragged

from attncost import Causal
from attncost.core.errors import ShapeError, UnknownName, UnsupportedOption
from attncost.train.loop import train
from attncost.train.recipe import Recipe
from attncost.train.transformer import Sizes, Transformer

RECIPE = Recipe(steps=3, batch=4)
SMALL = Sizes(d_model=8, layers=1, heads=2)


def test_a_type_that_is_not_there_is_refused():
    with pytest.raises(UnknownName, match=r"^no type for autocast is called 'float8'; did"):
        Recipe(steps=1, autocast="float8")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"betas": (0.9,)}, r"^betas must be two numbers in \[0, 1\), got \(0.9,\)."),
        ({"steps": 2.5}, r"^steps must be a whole number \(an int\), got 2.5."),
        ({"batch": np.int64(4)}, r"^batch must be a whole number \(an int\), got np.int64\(4\)."),
        ({"seed": "0"}, r"^seed must be a whole number \(an int\), got '0'."),
    ],
)
def test_what_is_of_another_kind_is_refused(wrong, message):
    with pytest.raises(ShapeError, match=message):
        Recipe(**{"steps": 3, **wrong})


def test_a_compiled_model_learns_as_it_does_otherwise_and_cannot_be_looked_at():
    plain = Transformer(Ragged(), Causal(), SMALL)
    compiled = torch.compile(Transformer(Ragged(), Causal(), SMALL), backend="eager")
    with pytest.raises(UnsupportedOption, match="is compiled"):
        train(compiled, Ragged(), RECIPE)
    found = train(compiled, Ragged(), RECIPE, every=0).rows
    assert found == train(plain, Ragged(), RECIPE, every=0).rows


def test_scores_that_are_no_tensor_are_refused():
    class Several(torch.nn.Linear):
        def forward(self, tokens):
            return (super().forward(tokens.float()),)

    with pytest.raises(ShapeError, match=r"\(4, 9, 'classes'\), got tuple."):
        train(Several(9, 3), Ragged(), RECIPE)
