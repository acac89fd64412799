"""Whole numbers that decide what runs: documents, masks, positions."""

import pytest
import torch
from tests.cost.memory.real_calls import measured, predicted

import attncost as ac
from attncost.cost.memory.memory import memory


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("pattern", [ac.Causal(), ac.pattern("strided", stride=7)], ids=str)
def test_documents_take_what_they_take_one_by_one(pattern, training):
    segments = torch.arange(300).expand(2, -1) // torch.tensor([[120], [290]])
    qkv = [torch.randn(2, 4, 300, 16, requires_grad=training) for _ in range(3)]
    found = predicted(ac.attention, *qkv, pattern, training=training, segments=segments)
    real = measured(ac.attention, *qkv, pattern, training=training, segments=segments)
    assert (found.above, found.exact) == (real, True)


def test_a_call_may_ask_for_numbers_of_masks_and_positions():
    def call(x, mask):
        seen = mask.nonzero().flatten()
        last = int(torch.arange(x.shape[0])[-1])
        return torch.ones(len(seen) + last + int(mask.sum()))

    mask = torch.tensor([True, False, True])
    found = predicted(call, torch.randn(10), mask)
    assert found.kept == {"": 4 * (2 + 9 + 2)}


def test_numbers_of_the_caller_are_not_written_to():
    number = torch.tensor([1, 2])

    def call(x):
        number.add_(1)
        return x * int(number[0])

    found = memory(call, torch.randn(3))
    assert number.tolist() == [1, 2]
    assert found.exact
    module = torch.nn.BatchNorm1d(3)
    memory(module, torch.randn(5, 3))
    assert module.num_batches_tracked == 0


def test_masks_whose_numbers_are_not_known_are_named():
    q = torch.empty(1, 2, 50, 8, device="meta")
    mask = torch.empty(1, 50, dtype=torch.bool, device="meta")
    found = memory(ac.attention, q, q, q, key_mask=mask)
    assert found.at_least == (
        "the numbers of key_mask are not known, and more may be held for what it hides.",
    )


def test_numbers_that_become_unknown_are_told():
    def call(x):
        chosen = torch.zeros(3, dtype=torch.long)
        chosen.copy_(x)
        return chosen

    found = memory(call, torch.randn(3))
    assert found.at_least == ("whole numbers were overwritten by some that are not known.",)
