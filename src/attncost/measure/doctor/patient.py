"""Whom the doctor sees: the sizes of a layer, and the modules of a model that has any.

A model comes without weights, so each module that is to be timed is made anew with random ones: its
time depends on sizes, not on values. A model that cannot be built is examined by its sizes.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, final

import torch
from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)

_SCALE: Final = 0.02


@final
@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A module without weights, and what to call it with."""

    module: nn.Module
    inputs: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Patient:
    """A layer or a model; without anything, the layer that the articles time.

    Attributes:
        name: What people call it.
        d_model: Features of a token.
        heads: Heads of one attention.
        head_dim: Features of a head.
        threads: What PyTorch may use, as it was found.
        length: Tokens of a sequence; 0 until it is known what the time allows.
        longest: Tokens that its positions allow; None for any number.
        model: The model; None for a layer, which has no modules of its own.
        unbuilt: Why a model could not be built; empty if it could, or is none.
    """

    name: str = "layer:d_model=512,heads=8"
    d_model: int = 512
    heads: int = 8
    head_dim: int = 64
    threads: int = field(default_factory=torch.get_num_threads)
    length: int = 0
    longest: int | None = None
    model: Model | None = None
    unbuilt: str = ""

    def features_of_heads(self) -> Tensor:
        """Return random queries, keys or values of every head, the same at each call."""
        generator = torch.Generator().manual_seed(0)
        return torch.rand(1, self.heads, self.length, self.head_dim, generator=generator) - 0.5

    def tokens(self, features: int, *, batch_first: bool = True) -> Tensor:
        """Return a random sequence, the same at each call."""
        generator = torch.Generator().manual_seed(1)
        shape = (1, self.length, features) if batch_first else (self.length, 1, features)
        return torch.rand(shape, generator=generator) - 0.5


def alike(model: nn.Module, kind: type[Module]) -> tuple[tuple[Module, ...], ...]:
    """Return the modules of a kind, those of the same sizes together."""
    found: dict[object, list[Module]] = {}
    for module in model.modules():
        if isinstance(module, kind):
            found.setdefault(sizes(module), []).append(module)
    return tuple(map(tuple, found.values()))


def sizes(module: nn.Module) -> object:
    """Return what two modules have alike that take as long."""
    inside = (one for one in module.modules() if isinstance(one, nn.MultiheadAttention))
    # The heads of an attention are not among what it says of itself.
    return repr(module), tuple((one.num_heads, one.batch_first) for one in inside)


def with_weights(module: Module) -> Module:
    """Return a copy on the CPU with random weights, in the mode of evaluation."""
    generator = torch.Generator().manual_seed(2)
    made = deepcopy(module).to_empty(device="cpu").eval()
    with torch.no_grad():
        for weights in made.parameters():
            weights.copy_(_SCALE * (torch.rand(weights.shape, generator=generator) - 0.5))
        for buffer in made.buffers():
            buffer.zero_()
    return made
