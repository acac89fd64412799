"""What a host is: something that makes the attention calls of a model, and can be watched."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TypeAlias

from torch import nn

from attncost.view.seen import Seen

See: TypeAlias = Callable[[Seen], None]


class Host(ABC):
    """A way in which models make calls of attention, such as the functions of transformers."""

    @abstractmethod
    def layers(self, model: nn.Module) -> dict[str, nn.Module]:
        """Return the layers whose calls it can see, by name in the model, cross-attention too.

        A layer belongs to the first host that names it, with all modules within it.
        """

    @abstractmethod
    def watch(
        self, model: nn.Module, chosen: Mapping[str, nn.Module], see: See
    ) -> AbstractContextManager[None]:
        """Tell of every call that the chosen layers make meanwhile, as it is made.

        What the model computes stays the same to the last bit, and it is as before afterwards,
        also after an error. `Seen` holds all heads, the values, and the very tensors of the call:
        who keeps them detaches them and copies what may change.

        Args:
            model: The model.
            chosen: Some of its `layers`.
            see: Told of each call in order, in the midst of the forward pass.
        """
