"""What is hung into an attention module of a model to say what this layer reads."""

from collections.abc import Mapping
from typing import Final, final

from torch import Tensor, nn

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

    def __init__(
        self, attention: Pattern | Mechanism, learned: Mapping[str, nn.Parameter] | None = None
    ) -> None:
        super().__init__()
        self.attention = attention
        for name, parameter in (learned or {}).items():
            self.register_parameter(name, parameter)

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
