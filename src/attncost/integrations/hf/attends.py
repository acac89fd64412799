"""What is hung into an attention module of a model to say what this layer reads."""

from collections.abc import Mapping
from typing import final

import torch
from torch import Tensor, nn

from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.interface import Pattern

# The name under which it hangs there.
ATTENDS = "attncost"


@final
class Attends(nn.Module):
    """The pattern or mechanism of one layer, and the learned tensors of a mechanism.

    Attributes:
        reads: What the layer computes, within what its model allows.
    """

    def __init__(self, reads: Pattern | Mechanism, dims: Dims | None = None) -> None:
        super().__init__()
        self.reads = reads
        shapes = {} if isinstance(reads, Pattern) or dims is None else reads.parameters(dims)
        for name, shape in shapes.items():
            weight = nn.Parameter(torch.empty(shape))
            nn.init.normal_(weight, std=shape[-1] ** -0.5)
            self.register_parameter(name, weight)

    def learned(self) -> Mapping[str, Tensor]:
        """Return the learned tensors by name."""
        return dict(self.named_parameters(recurse=False))

    def extra_repr(self) -> str:
        """Show what is read."""
        return repr(self.reads)

    def forward(self) -> None:
        """Refuse: the attention around it asks for `reads` alone."""
        raise ShapeError("this holds what an attention layer reads, and computes nothing itself.")


def attends(module: nn.Module) -> Attends | None:
    """Return what was hung into a module, if anything was."""
    found = module._modules.get(ATTENDS)
    return found if isinstance(found, Attends) else None
