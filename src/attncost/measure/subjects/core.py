"""What it takes to time one way to attend: what computes it, its cost, and one token more."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from attncost.core.dims import Dims
from attncost.measure.subjects.case import Case

Projected: TypeAlias = tuple[Tensor, Tensor, Tensor]
Attend: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]
# Makes a tensor of random numbers where a call is made.
Draw: TypeAlias = Callable[[tuple[int, ...], torch.Generator], Tensor]


class Core(ABC):
    """One way to attend."""

    @property
    @abstractmethod
    def kernel(self) -> str:
        """What it asks for: `auto`, a kernel, or its own name if it has one way alone."""

    @abstractmethod
    def attend(self, dims: Dims, draw: Draw) -> Attend:
        """Return what computes it at given sizes."""

    @abstractmethod
    def cost(self, dims: Dims, case: Case) -> tuple[int, int]:
        """Return the FLOPs that are executed and the bytes that are moved; in training both ways.

        Args:
            dims: Sizes of a whole sequence; in `decode` without the token that comes.
            case: How it is called.

        Raises:
            UnsupportedOption: If it cannot run in the case.
        """

    @abstractmethod
    def after(self, attend: Attend, held: Projected) -> Attend:
        """Return what attends to one token more, and then forgets it.

        Args:
            attend: What computes a sequence, as `attend` returns it.
            held: Queries, keys and values of the tokens before.

        Raises:
            UnsupportedOption: If it cannot write token by token.
        """
