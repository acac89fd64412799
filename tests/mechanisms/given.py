"""What the contract tests of mechanisms give them."""

import pytest
import torch

from attncost import Dims

every_shape = pytest.mark.parametrize(
    ("heads", "features"), [((4, 4), (8, 8)), ((4, 2), (8, 5)), ((4, 1), (5, 8))], ids=str
)
# Within one chunk of linear attention, at its end, and over several; more keys, and fewer.
SIZES = [(1, 1), (7, 7), (64, 64), (130, 130), (20, 90), (90, 20), (1, 77), (0, 5), (5, 0)]
MASKED_SIZES = [(7, 7), (130, 130), (20, 90), (90, 20), (0, 5), (5, 0)]


def learned(mechanism, qkv, generator, *, longer=0):
    """Return learned tensors of the type of these inputs, for so many more keys."""
    q, k, v = qkv
    m = k.shape[2] + longer
    dims = Dims.of(q.shape, (*k.shape[:2], m, k.shape[3]), (*v.shape[:2], m, v.shape[3]))
    return {
        name: torch.randn(shape, dtype=torch.float64, generator=generator)
        .to(q.dtype)
        .requires_grad_()
        for name, shape in mechanism.parameters(dims).items()
    }


def gradients(out, inputs):
    """Return those of a loss that tells rows and features apart."""
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view(out.shape)
    return torch.autograd.grad((out * weights).sum(), inputs, materialize_grads=True)
