"""A mask where a rule belongs is explained by us, not by a type checker."""

import pytest
import torch

from attncost import ShapeError
from attncost.patterns.custom import Custom


def test_a_mask_is_no_rule():
    with pytest.raises(ShapeError, match=r"got a Tensor; for a boolean mask use Custom\.of"):
        Custom(torch.ones(3, 3, dtype=torch.bool))
