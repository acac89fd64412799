"""What a meter is given in the wrong type is explained by us, not by Python."""

import numpy as np
import pytest
import torch

from attncost import Meter, ShapeError, preset

WHOLE = "lengths and width must be whole numbers such as"


@pytest.mark.parametrize(
    ("batch", "reason"),
    [
        ({"lengths": [2.5]}, rf"{WHOLE} .*, got \[2.5\] and"),
        ({"lengths": [[3, 2.5]]}, WHOLE),
        ({"lengths": 5}, rf"{WHOLE} .*, got 5 and"),
        ({"lengths": 2.0}, WHOLE),
        ({"lengths": "abc"}, rf"{WHOLE} .*, got 'abc' and"),
        ({"lengths": ["abc"]}, WHOLE),
        ({"lengths": [True, False]}, WHOLE),
        ({"lengths": torch.tensor([2.5, 3.0])}, WHOLE),
        ({"lengths": torch.ones(2, 3, dtype=torch.long)}, f"{WHOLE} .* a mask goes to key_mask="),
        ({"lengths": [3], "width": "8"}, f"{WHOLE} .* and width='8'"),
        ({"key_mask": [[1, 1, 0]]}, r"key_mask must be a tensor \(batch, n\) .*, got list"),
        ({"segments": np.ones((1, 3))}, r"segments must be a tensor .*, got ndarray"),
    ],
)
def test_batches_of_the_wrong_type_are_refused_in_one_line(batch, reason):
    meter = Meter(preset("llama-3-8b"))
    with pytest.raises(ShapeError, match=reason) as error, meter.step(**batch):
        pass
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("lengths", [torch.tensor([5, 3]), np.array([5, 3]), (5, np.int64(3))])
def test_whole_numbers_may_come_from_tensors_and_arrays(lengths):
    meter = Meter(preset("llama-3-8b"))
    with meter.step(lengths):
        pass
    assert (meter.last.tokens, meter.last.slots) == (8, 10)


def test_a_peak_is_a_number():
    for peak in ("312T", [312e12], 3j):
        with pytest.raises(ShapeError, match=r"peak must be a number of FLOP/s .*, got"):
            Meter(preset("llama-3-8b"), peak=peak)
    assert Meter(preset("llama-3-8b"), peak=np.float32(2)).steps == ()
