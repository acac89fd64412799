import torch
from torch import nn

from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded
from attncost.measure.trials.passes import inputs_of, passes

TEXTS = [[5, 6, 7], [], [8], [9, 3]]


def kept(texts):
    return {"texts": texts}


def test_batches_hold_the_texts_of_a_way_as_they_come():
    assert inputs_of(Padded(2), TEXTS, collate=kept) == [
        {"texts": [[5, 6, 7], []]},
        {"texts": [[8], [9, 3]]},
    ]


def test_batches_of_empty_texts_call_nothing():
    assert inputs_of(Padded(1), TEXTS[1:3], collate=kept) == [{"texts": [[8]]}]


def test_every_token_is_in_one_batch_of_packed_rows():
    found = inputs_of(Packed(4), TEXTS, collate=kept)
    tokens = sorted(token for one in found for text in one["texts"] for token in text)
    assert tokens == [3, 5, 6, 7, 8, 9]
    assert len(found) == 2


class Model(nn.Module):
    """Says how it was called."""

    def __init__(self):
        super().__init__()
        self.weight, self.calls = nn.Parameter(torch.ones(3)), []

    def forward(self, x):
        mode = torch.is_inference_mode_enabled(), torch.is_grad_enabled(), self.training
        self.calls.append((x.tolist(), *mode))
        return (x * self.weight).sum()


INPUTS = [{"x": torch.tensor([1.0, 2.0, 3.0])}, {"x": torch.tensor([4.0, 5.0, 6.0])}]


def test_a_pass_calls_the_model_once_a_batch_in_inference():
    model = Model().eval()
    run = passes(model, INPUTS)
    run()
    run()
    assert (
        model.calls
        == [
            ([1.0, 2.0, 3.0], True, False, False),
            ([4.0, 5.0, 6.0], True, False, False),
        ]
        * 2
    )
