"""PyTorch's attention module and ours with the same random parameters."""

import math
from contextlib import contextmanager

import pytest
import torch
from torch import nn

from attncost import Causal
from attncost.nn.multihead import MultiheadAttention

EMBED, HEADS = 16, 4
MODES = ("train", "eval", "no_grad", "inference_mode")
EXACT = {"atol": 1e-12, "rtol": 1e-12}

every_mode = pytest.mark.parametrize("way", MODES)


def pair(*, pattern=None, **arguments):
    """Return theirs and ours, in float64."""
    arguments = {"batch_first": True, "dtype": torch.float64} | arguments
    torch.manual_seed(1)
    theirs = nn.MultiheadAttention(EMBED, HEADS, **arguments)
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.5)
    ours = MultiheadAttention(
        EMBED, HEADS, **arguments, **({"pattern": pattern} if pattern else {})
    )
    ours.load_state_dict(theirs.state_dict(), strict=True)
    return theirs, ours


def tokens(*shape, seed=2):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@contextmanager
def mode(name, *modules):
    """Run in training or in one of the ways of not training."""
    for module in modules:
        module.train(name == "train")
    with (
        torch.inference_mode(name == "inference_mode"),
        torch.set_grad_enabled(name in ("train", "eval")),
    ):
        yield


def heads_of(module, query, key, value):
    """Project with the fused weights of a module, written out: (b, h, n, d) each."""
    weights, biases = module.in_proj_weight.chunk(3), module.in_proj_bias.chunk(3)
    found = []
    for x, weight, bias in zip((query, key, value), weights, biases, strict=True):
        features = torch.einsum("bne,fe->bnf", x, weight) + bias
        d = features.shape[2] // module.num_heads
        found.append(torch.stack(features.split(d, 2), 1))
    return found


def joined(module, out):
    """Put heads side by side and project them, written out."""
    flat = torch.cat(out.unbind(1), -1)
    return torch.einsum("bne,fe->bnf", flat, module.out_proj.weight) + module.out_proj.bias


def lowered(mask):
    return torch.zeros(mask.shape, dtype=torch.float64).masked_fill(mask, -math.inf)


def triangle(n, m=None):
    """Block what follows the query; the last query stands at the last key."""
    return ~Causal().mask(n, n if m is None else m)
