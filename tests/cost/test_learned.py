"""What is learned besides matrices, against modules of PyTorch."""

import pytest
from torch import nn

from attncost import BlockSizes, Configuration, Full
from attncost.cost.learned import Learned


def learned(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("bias", [False, True])
def test_a_layer_of_attention_learns_what_pytorchs_does(bias):
    biases = frozenset({"qkv", "output", "feed-forward"} if bias else ())
    layer = Configuration(
        name="layer",
        layers=1,
        block=BlockSizes(d_model=48, heads=4),
        attention=Full(),
        learned=Learned(biases=biases),
    )
    assert layer.parameters == learned(nn.MultiheadAttention(48, 4, bias=bias))


def test_blocks_learn_what_pytorchs_encoder_layers_do():
    block = BlockSizes(d_model=48, heads=4, hidden=80)
    everywhere = frozenset({"qkv", "output", "feed-forward"})
    ours = 3 * (Learned(norm=2, biases=everywhere).in_block(block))
    model = Configuration(name="encoder", layers=3, block=block, attention=Full())
    theirs = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(48, 4, 80), 3, enable_nested_tensor=False
    )
    assert model.matrices + ours == learned(theirs)
