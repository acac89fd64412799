"""The rule for flex attention, by flex attention's own eyes; and how dense a pattern is."""

import pytest
import torch
from tests.every import every_pattern
from torch.nn.attention.flex_attention import create_block_mask, create_mask

from attncost import Causal, Full


@every_pattern
@pytest.mark.parametrize(("n", "m"), [(1, 1), (64, 64), (129, 129), (40, 150), (150, 40)])
def test_flex_makes_the_same_mask(pattern, n, m):
    made = create_mask(pattern.mask_mod(n, m), None, None, n, m, device="cpu")
    assert torch.equal(made[0, 0], pattern.mask(n, m))


@every_pattern
@pytest.mark.parametrize(("n", "m"), [(256, 256), (128, 384)])
def test_flex_makes_the_same_blocks(pattern, n, m):
    made = create_block_mask(pattern.mask_mod(n, m), None, None, n, m, device="cpu", BLOCK_SIZE=64)
    blocks = pattern.mask(n, m).view(n // 64, 64, m // 64, 64).any(3).any(1)
    assert torch.equal(made.to_dense()[0, 0].bool(), blocks)


@every_pattern
def test_density_is_the_share_that_is_read(pattern):
    for n, m in ((129, 129), (40, 150)):
        assert pattern.density(n, m) == pytest.approx(pattern.mask(n, m).double().mean().item())


def test_density_of_published_masks_and_of_nothing():
    assert Full().density(7) == 1
    assert Causal().density(1000) == pytest.approx(0.5, rel=2e-3)
    assert Causal().density(0) == Causal().density(5, 0) == 0
