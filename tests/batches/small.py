"""A small model in float64 that reads padded and packed batches, and texts for it."""

import torch
from hypothesis import strategies as st
from torch import nn

import attncost as ac

VOCABULARY, LONGEST = 30, 12

some_texts = st.lists(
    st.lists(st.integers(0, VOCABULARY - 1), max_size=LONGEST), min_size=1, max_size=6
)


def made(pattern=None, dtype=torch.float64):
    """Return an embedding of ids and positions, a block and a head."""
    torch.manual_seed(0)
    attention = ac.nn.Attention(16, 2, ac.Causal() if pattern is None else pattern)
    parts = {
        "ids": nn.Embedding(VOCABULARY, 16),
        "positions": nn.Embedding(2 * LONGEST, 16),
        "block": ac.nn.TransformerBlock(attention, hidden=32),
        "head": nn.Linear(16, VOCABULARY),
    }
    return nn.ModuleDict(parts).to(dtype)


def logits(model, batch):
    """Return what the model says of each slot."""
    mask = batch.get("attention_mask")
    # As transformers counts positions of padded texts: its padding has none of its own.
    positions = batch["position_ids"] if mask is None else (mask.cumsum(1) - 1).clamp(min=0)
    tokens = model["ids"](batch["input_ids"]) + model["positions"](positions)
    key_mask = None if mask is None else mask.bool()
    return model["head"](model["block"](tokens, key_mask=key_mask, segments=batch.get("segments")))


def gradients(model, loss):
    return torch.autograd.grad(loss, list(model.parameters()))
