"""What maps and prices say to whoever gives them something else than calls, without the hook."""

import pytest
import torch

from attncost import Full, ShapeError
from attncost.view.maps.maps import maps
from attncost.view.prices.heads import head_prices
from attncost.view.prices.layers import layer_prices
from attncost.view.seen import Seen
from attncost.view.statistics.statistics import statistics


def call():
    q = torch.zeros(1, 1, 4, 8)
    return Seen(name="a", q=q, k=q, v=None, pattern=Full(), wishes={}, heads=(0,))


@pytest.mark.parametrize(
    ("given", "got"),
    [(3, "got a int"), ([], "got a list"), ({"a": 3}, "got a dict of something else")],
    ids=["number", "list", "mapping of numbers"],
)
def test_what_was_not_captured_makes_no_maps(given, got):
    with pytest.raises(ShapeError, match=f"captured must be what attncost.capture yields, .*{got}"):
        maps(given)


def test_a_call_that_is_in_no_tuple_makes_no_maps():
    with pytest.raises(ShapeError, match="got a dict of something else"):
        maps({"a": call()})


@pytest.mark.parametrize("grid", [3, (3,), (1.5, 2), "ab"], ids=str)
def test_what_is_no_grid_is_refused(grid):
    with pytest.raises(ShapeError, match="grid must be rows and columns of patches"):
        maps({"a": (call(),)}, grid=grid)


def test_head_prices_need_a_call_and_statistics():
    found = statistics(call().q, call().k)
    with pytest.raises(ShapeError, match=r"seen must be attncost\.Seen, got a int"):
        head_prices(3, found)
    with pytest.raises(ShapeError, match=r"found must be attncost\.Statistics, got a Seen"):
        head_prices(call(), call())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"model": 3}, r"model must be a torch\.nn\.Module, got a int"),
        ({"inputs": (1,)}, "inputs must be named, .* got a tuple"),
        ({"layers": [1]}, "layers must be a mapping such as .* got a list"),
        (
            {"layers": {"near": 3}},
            "'near' must have a pair of a call and its statistics, got a int",
        ),
        ({"layers": {"near": (3, 4)}}, r"seen must be attncost\.Seen, got a int"),
    ],
    ids=["model", "inputs", "layers", "no pair", "other pair"],
)
def test_layer_prices_need_a_model_named_inputs_and_pairs(asked, message):
    model = torch.nn.ModuleDict({"near": torch.nn.Identity()})
    with pytest.raises(ShapeError, match=message):
        layer_prices(**{"model": model, "inputs": {}, "layers": {}, **asked})
