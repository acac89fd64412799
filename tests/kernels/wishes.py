"""Every option of attention beside dropout, with numbers for it, alone and all together."""

import functools

import pytest
import torch

from attncost import UnsupportedOption, attention

SCALE = 0.3


def wishes(*names, n, m, heads=4, batch=2, seed=3):
    """Return options by their names, those with a gradient as leaves in float64."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        numbers = torch.randn(shape, dtype=torch.float64, generator=generator)
        return numbers.requires_grad_()

    documents = torch.arange(max(n, m)) // max(1, max(n, m) // 3)
    numbers = {
        "key_mask": torch.rand(batch, m, generator=generator) > 1 / 3,
        "segments": torch.stack([documents * int(row != 0) for row in range(batch)]),
        "bias": draw(batch, heads, n, m),
        "alibi": torch.linspace(0.02, 0.5, heads, dtype=torch.float64).requires_grad_(),
        "softcap": 1.5,
        "sink": draw(heads),
        "scale": SCALE,
    }
    return {name: numbers[name] for name in names}


EVERY = ("key_mask", "segments", "bias", "alibi", "softcap", "sink", "scale")
# What some kernels do not do without.
NEEDS = ((), ("segments",))
SMALL = torch.zeros(1, 1, 2, 2)
ONE_OF = {
    "key_mask": torch.ones(1, 2, dtype=torch.bool),
    "segments": torch.zeros(1, 2, dtype=torch.long),
    "bias": torch.zeros(1, 1, 2, 2),
    "alibi": torch.ones(1),
    "softcap": 2.0,
    "sink": torch.zeros(1),
    "scale": SCALE,
    "dropout_p": 0.25,
}


def needed(kernel, pattern):
    """Return the options without which a kernel refuses everything; skip if nothing helps."""
    for names in NEEDS:
        if honours(kernel, pattern, names):
            return names
    return pytest.skip(f"{kernel} does not take {pattern} here")


def honoured(kernel, pattern, names=EVERY):
    """Return those of the options that a kernel takes, each asked for alone, and what it needs."""
    needs = needed(kernel, pattern)
    wanted = [name for name in names if honours(kernel, pattern, (*needs, name))]
    return tuple(dict.fromkeys((*needs, *wanted)))


@functools.cache
def honours(kernel, pattern, names):
    try:
        options = {name: ONE_OF[name] for name in names}
        attention(SMALL, SMALL, SMALL, pattern, kernel=kernel, **options)
    except UnsupportedOption:
        return False
    return True
