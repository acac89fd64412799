"""What a family reads, against the model that transformers builds from the same settings."""

import torch

from attncost.cost.counting.counted import CORE
from attncost.cost.reading import understood
from attncost.integrations import architecture
from attncost.integrations.kept import cached_numbers
from attncost.integrations.weightless import Call, counted


def read(settings):
    """Return what its family reads."""
    return understood(dict(settings), name="this model", source="a test")


def built(settings):
    """Return the model of transformers, on meta."""
    return architecture.build(dict(settings), name="this model")


def check_parameters(settings):
    """Fail unless what it learns is what the model of transformers has parameters."""
    module = built(settings).module
    theirs = sum(parameter.numel() for parameter in module.parameters())
    assert read(settings).parameters == theirs


def check_flops(settings, lengths=(1, 7, 33)):
    """Fail unless FLOPs, useful and dense, of attention and of the rest, are those counted."""
    model, theirs = read(settings), built(settings)
    for length in lengths:
        found = counted(
            Call(theirs.module, (), theirs.inputs(length, 1), unpadded=True), name="this model"
        )
        assert not found.at_least
        core = found.by_step
        ours, cost = model.core(length), model.cost(length)
        assert ours.dense == sum(core[step].dense for step in CORE if step in core)
        assert ours.useful == sum(core[step].useful for step in CORE if step in core)
        assert (cost.useful, cost.dense) == (found.useful, found.dense)


def check_cache(settings):
    """Fail unless one token's keys and values are those that transformers' cache keeps."""
    with torch.device("meta"):
        kept = cached_numbers(built(settings), name="this model")
    assert read(settings).cached(1) == kept
