"""What a function of the user's makes, measured with real weights and inputs."""

import sys

import pytest
import torch

import attncost as ac
from attncost import ShapeError, UnknownName, UnsupportedOption
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.target import target

TEXT = """
import torch
from torch import nn

class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.d_model = 8
        self.linear, self.dropout = nn.Linear(8, 8), nn.Dropout(0.5)
        self.made = int(torch.arange(3).sum())  # it looks at numbers while it is made

    def forward(self, x):
        q = self.dropout(self.linear(x))
        return (q @ x.mT).softmax(-1) @ x

def features():
    return Mixed()

def tokens():
    return nn.Sequential(nn.Embedding(50, 16), nn.Linear(16, 4))

def both(length, batch):
    return nn.Linear(8, 8), {"input": torch.randn(batch, length, 8)}

def fixed():
    return nn.Linear(3, 4), torch.randn(2, 3)

def ends(length):
    return Mixed(), torch.randn(1, length, 8) + nn.Embedding(100, 8).weight[:length]
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "measured_by_test.py").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    yield lambda name: target(f"measured_by_test:{name}")
    sys.modules.pop("measured_by_test", None)


def test_a_module_runs_with_real_weights_on_random_inputs_of_the_case(mine):
    (subject,) = mine("features").subjects()
    call = subject.prepare(Case(length=5, batch=3, dtype="float64"))
    (x,), linear = call.inputs, call.module.linear
    assert x.shape == (3, 5, 8)
    assert x.unique().numel() == x.numel()
    expected = ((x @ linear.weight.T + linear.bias) @ x.mT).softmax(-1) @ x
    torch.testing.assert_close(call(), expected)
    assert (subject.name, subject.labels["attention"]) == ("measured_by_test:features", "own")


def test_numbers_of_tokens_are_within_the_table_and_sized_inputs_are_those_returned(mine):
    (subject,) = mine("tokens").subjects()
    call = subject.prepare(Case(length=200, batch=2))
    assert call().shape == (2, 200, 4)
    assert 40 < call.inputs[0].unique().numel() <= 50
    (sized,) = mine("both").subjects()
    assert sized.prepare(Case(length=7, batch=2))().shape == (2, 7, 8)


def test_flops_are_counted_and_split_at_products_of_two_activations(mine):
    (subject,) = mine("features").subjects()
    for mode, passes in (("forward", 1), ("training", 3)):
        found = subject.predict(Case(length=24, batch=2, mode=mode))
        assert found.linear == passes * 2 * 2 * 24 * 8 * 8
        assert found.core == passes * 2 * 4 * 24 * 24 * 8
        assert found.bytes > 0


def test_training_gives_gradients_of_inputs_and_weights_with_the_same_dropout(mine):
    (subject,) = mine("features").subjects()
    case = Case(length=6, mode="training")
    call = subject.prepare(case)
    gradients = call()
    assert [one.shape for one in gradients] == [(1, 6, 8), (8, 8), (8,)]
    assert all(map(torch.equal, gradients, call()))
    assert call.module.training
    assert not subject.prepare(Case(length=6)).module.training
    found = ac.count(call.module, *call.inputs, training=True)
    predicted = subject.predict(case)
    assert found.executed == predicted.linear + predicted.core


def test_everything_is_made_of_the_same_random_numbers_and_the_callers_are_left_alone(mine):
    state = torch.get_rng_state()
    one, other = (mine("both").subjects()[0].prepare(Case(length=4))() for _ in range(2))
    assert torch.equal(one, other)
    assert torch.equal(torch.get_rng_state(), state)


def test_lengths_end_where_the_module_does(mine):
    assert mine("ends").lengths[-1] == 96
    # 2 n d² = 4 n² d where n = d / 2, so few tokens are enough.
    assert mine("features").lengths[-1] == 512
    assert mine("tokens").lengths[-1] == 4096


@pytest.mark.parametrize(
    ("name", "error", "reason"),
    [
        ("fixed", ShapeError, "inputs of its own sizes, so it cannot be measured over the length"),
        ("nothing", UnknownName, "no function in measured_by_test is called 'nothing'"),
    ],
)
def test_what_has_no_length_or_is_not_there_is_refused(mine, name, error, reason):
    with pytest.raises(error, match=reason):
        mine(name).subjects()


def test_what_a_function_does_not_say_is_refused(mine):
    found = mine("features")
    for wish, option in ((["full"], "--attention"), (None, "--qkv")):
        with pytest.raises(ShapeError, match=f"leave {option} out"):
            found.subjects(wish, None if wish else ["fused"])
    with pytest.raises(UnsupportedOption, match="nothing is known of a cache"):
        found.subjects()[0].predict(Case(length=8, mode="decode"))
    with pytest.raises(UnsupportedOption, match="names a function, and sizes are needed"):
        assert found.configuration
