"""What transformers itself says of attention weights, by the names of our layers."""

from functools import cache

import torch
from tests.integrations.hf import zoo

_KINDS = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")


@cache
def model(name):
    """Return a tiny model, one for all tests, which leave it as it was."""
    return (zoo.ZOO | zoo.MORE)[name]()


def run(model, batch):
    with torch.no_grad():
        return model(**batch)


def eager_weights(model, batch):
    """Return all weights of a model that computes by eager, as it orders them."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    found = run(model, batch | {"output_attentions": True})
    model.set_attn_implementation(before)
    return [weights for kind in _KINDS for weights in found.get(kind) or ()]


def in_their_order(captured):
    """Return the names of layers: encoder, decoder, then what reads across."""
    place = {name: number for number, name in enumerate(captured)}
    return sorted(
        captured,
        key=lambda name: (
            captured.last(name).cross,
            not name.startswith("encoder"),
            place[name],
        ),
    )


def real_queries(name, batch, layer):
    """Return which queries are no padding, (b, 1, n, 1)."""
    mask = batch.get("attention_mask")
    if mask is None or (name == "t5" and layer.startswith("decoder")):
        return torch.ones(1, 1, 1, 1, dtype=torch.bool)
    return mask.bool()[:, None, :, None]
