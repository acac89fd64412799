"""Changes to a `Transformer` before it is trained, each of one thing.

They change it in place and may follow each other. What they do not touch keeps its weights.
"""

import math
from collections.abc import Callable
from typing import Final, TypeAlias

from torch import nn

from attncost.nn.attention import Attention
from attncost.nn.block import TransformerBlock
from attncost.train.stability.post_norm import PostNormBlock
from attncost.train.transformer import Transformer

Edit: TypeAlias = Callable[[Transformer], None]
_DEVIATION: Final = 0.02


def without_layer_norm(model: Transformer) -> None:
    """Take every LayerNorm away; those of queries and keys are RMSNorms and stay."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.LayerNorm):
                module.add_module(name, nn.Identity())


def with_norms_after(model: Transformer) -> None:
    """Normalise after each sub-layer; the last block then ends with a norm and needs no other."""
    for at, block in enumerate(model.blocks):
        if isinstance(block, TransformerBlock):
            model.blocks[at] = PostNormBlock(block)
    model.add_module("norm", nn.Identity())


def with_trained_gains(model: Transformer) -> None:
    """Let the norms of queries and keys learn a gain, as in Qwen 3, arXiv:2505.09388."""
    for module in model.modules():
        if isinstance(module, Attention):
            for norm in (module.q_norm, module.k_norm):
                if norm is not None:
                    norm.requires_grad_(True)


def begun_small(model: Transformer) -> None:
    """Draw all matrices as GPT-2 does, those at the end of a residual branch smaller with depth.

    Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.3, for at
    least 768 features.
    """
    branches = math.sqrt(2 * len(model.blocks))
    for name, weight in model.named_parameters():
        if weight.ndim == 2:
            ends = name.endswith(("attention.out.weight", "down.weight"))
            nn.init.normal_(weight, std=_DEVIATION / (branches if ends else 1.0))
