"""How many numbers a model learns, part by part, with symbols in place of sizes."""

from dataclasses import replace

from attncost.core.counts import Count
from attncost.cost.configuration import Configuration
from attncost.cost.model.layer import Layers
from attncost.patterns.full import Full
from attncost.report.calculator.asked import Chosen, symbols, told, told_of
from attncost.report.calculator.model import attended, built, ended, fed


def attention_learned(chosen: Chosen) -> Count:
    """Return how many numbers attention of a layer learns."""
    return attended(symbols(), chosen, Full()).learned


def feed_learned(chosen: Chosen) -> Count:
    """Return how many its feed-forward learns."""
    feed = fed(symbols(), chosen)
    return feed.learned if feed else 0


def head_learned(chosen: Chosen) -> Count:
    """Return how many the head learns."""
    head = ended(symbols(), chosen)
    return head.learned(symbols()["d_model"]) if head else 0


def parameters(chosen: Chosen) -> Count:
    """Return how many the model learns."""
    model = _summed(chosen)
    own = model.embedding
    embedding = replace(own, others=own.others + told("head_learned"))
    return replace(model, embedding=embedding, head=None).parameters


def multiplied(chosen: Chosen) -> Count:
    """Return how many of them one token multiplies."""
    return _summed(chosen).multiplied


def _summed(chosen: Chosen) -> Configuration:
    """Return a model that is told what attention and feed-forward of a layer learn."""
    model = told_of(built(symbols(), chosen, Full()), feed=False, numbers=told("attention_learned"))
    layer = replace(model.stack[0].layer, others=told("feed_learned"))
    return replace(model, stack=(Layers(layer, model.layers),))
