import numpy as np
import pytest
import torch

from attncost.batches.lengths import check_lengths
from attncost.core.errors import ShapeError


@pytest.mark.parametrize("kind", [list, torch.tensor, np.array, iter])
def test_lengths_may_come_from_tensors_and_arrays(kind):
    found = check_lengths(kind([512, 0, 3]))
    assert found == (512, 0, 3)
    assert {type(length) for length in found} == {int}


@pytest.mark.parametrize("lengths", [[2.5], ["abc"], torch.ones(20, 20), [None], [3, -1], [True]])
def test_what_is_no_length_is_refused_in_one_line_that_says_what_to_pass(lengths):
    said = r"^lengths must be whole numbers of at least 0 .* got .*: pass \[len\(ids\) for ids"
    with pytest.raises(ShapeError, match=said) as error:
        check_lengths(lengths)
    assert "\n" not in str(error.value)
