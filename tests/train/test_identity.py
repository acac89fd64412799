import json
from pathlib import Path

import pytest
import torch
from tests.train.small import SIZES, Ragged
from torch import nn

from attncost import Causal
from attncost.core.errors import StorageError
from attncost.train.identity import check_same, identity
from attncost.train.recipe import Recipe, optimizer
from attncost.train.transformer import Transformer

RECIPE = Recipe(steps=9)
FILE = Path("kept")


def small(seed=0):
    return Transformer(Ragged(), Causal(), SIZES, seed=seed)


def run_of(model, optimize=optimizer):
    return identity(model, optimize(model, RECIPE), Ragged(), RECIPE)


def test_an_identity_is_the_same_after_writing_and_reading_and_for_a_model_built_alike():
    run = run_of(small())
    assert json.loads(json.dumps(run)) == run == run_of(small())
    check_same(FILE, {**run, "torch": "2.13.0"}, run_of(small()))


def another_bit(model):
    model.head.weight.data.view(torch.int32)[0, 0] ^= 1


def learned_gains(model):
    model.blocks[0].attention.q_norm.weight.requires_grad_(True)


def counting(model):
    model.register_buffer("count", torch.tensor(3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            another_bit,
            r"whose head.weight is .*, begun as \w{16} and not .*, begun as \w{16}: name",
        ),
        (learned_gains, r"whose blocks.0.attention.q_norm.weight is .* not learned, .* learned as"),
        (counting, r"whose count is missing and not torch.int64 \(\), not learned, begun as"),
    ],
)
def test_a_model_that_begins_otherwise_is_another(change, message):
    run, other = run_of(small()), small()
    change(other)
    with pytest.raises(StorageError, match=message) as caught:
        check_same(FILE, run, run_of(other))
    assert "\n" not in str(caught.value)
    with pytest.raises(StorageError, match="kept is of another run"):
        check_same(FILE, run_of(other), run)


def test_another_seed_of_the_weights_is_another_run():
    with pytest.raises(StorageError, match=r"whose embedding.weight is torch.float32 \(7, 8\)"):
        check_same(FILE, run_of(small()), run_of(small(seed=1)))


def test_another_order_of_what_is_learned_is_another_run():
    def turned(model, recipe):
        return torch.optim.AdamW([*model.parameters()][::-1], lr=recipe.learning_rate)

    def straight(model, recipe):
        return torch.optim.AdamW(model.parameters(), lr=recipe.learning_rate)

    runs = [run_of(nn.Linear(2, 2, bias=True), optimize) for optimize in (turned, straight)]
    with pytest.raises(StorageError, match=r"whose weight is .*, learned as 1, .*, learned as 0,"):
        check_same(FILE, *runs)


def test_what_says_nothing_of_its_run_is_another():
    run = run_of(small())
    for name in run:
        for left in ({}, {name: "x"}):
            found = {key: said for key, said in run.items() if key != name} | left
            with pytest.raises(StorageError, match="kept is of another run"):
                check_same(FILE, found, run)
