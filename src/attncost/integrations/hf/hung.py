"""What is hung into an attention module of a model to say what this layer reads."""

from collections.abc import Mapping
from typing import Any, Final, final

import torch
from torch import Tensor, nn

from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.interface import Pattern

# The name under which it hangs there.
PLACE: Final = "attncost"


@final
class Attends(nn.Module):
    """The pattern or mechanism of one layer, and the learned tensors of a mechanism.

    Attributes:
        attention: What the layer computes, within what its model allows.
    """

    def __init__(self, attention: Pattern | Mechanism, dims: Dims | None = None) -> None:
        super().__init__()
        self.attention = attention
        shapes: dict[str, tuple[Any, ...]] = {}
        if isinstance(attention, Mechanism) and dims is not None:
            shapes = attention.parameters(dims)
        for name, shape in shapes.items():
            weight = nn.Parameter(torch.empty(shape))
            nn.init.normal_(weight, std=shape[-1] ** -0.5)
            self.register_parameter(name, weight)

    def learned(self) -> Mapping[str, Tensor]:
        """Return the learned tensors by name."""
        return dict(self.named_parameters(recurse=False))

    def extra_repr(self) -> str:
        """Show what is read."""
        return repr(self.attention)

    def forward(self) -> None:
        """Refuse: the attention around it asks for `attention` alone."""
        raise ShapeError("this holds what an attention layer reads, and computes nothing itself.")


def hung(module: nn.Module) -> Attends | None:
    """Return what was hung into a module, if anything was."""
    found = module._modules.get(PLACE)
    return found if isinstance(found, Attends) else None
