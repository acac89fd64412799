"""What a function that computes attention is: how to read sizes and pairs off one call of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, final

import torch
from torch import Tensor

from attncost.core.autocast import autocast_type
from attncost.core.cost import Cost
from attncost.core.dims import Dims
from attncost.kernels.interface import SOFTMAX

# Whatever the function takes.
Given: TypeAlias = Any


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionCall:
    """One call of softmax attention; pairs are summed over all sequences and query heads.

    Attributes:
        dims: The sizes; of the padded batch where sequences differ in length.
        useful: Pairs that are read.
        executed: Pairs that are multiplied.
        bytes: What it reads and writes in the forward pass.
        learns: Whether a gradient of q, of k and of v is asked for.
        learns_bias: Whether one of what is added to the scores is.
        padded: Features of a key and of a value that are multiplied, if more than `dims` says.
        unknown: Why pairs may be fewer than `useful` says, in words; None if they are known.
    """

    dims: Dims
    useful: int
    executed: int
    bytes: int
    learns: tuple[bool, bool, bool] = (False, False, False)
    learns_bias: bool = False
    padded: tuple[int, int] | None = None
    unknown: str | None = None

    @property
    def dense(self) -> int:
        """Pairs without any mask."""
        dims = self.dims
        return int(dims.batch * dims.heads * dims.length * dims.kv_length)

    def forward(self) -> Cost:
        """Return the cost of scores, softmax and weighted sum."""
        return self._products(1, 1, softmax=SOFTMAX * self.executed) + Cost(bytes=self.bytes)

    def backward(self) -> Cost:
        """Return the cost of the gradients that are asked for.

        With P the weights and S the scores: dV = Pᵀ dO, dP = dO Vᵀ, dQ = dS K, dK = dSᵀ Q. What the
        forward pass moved is moved again, and a gradient of each of it.
        """
        q, k, v = self.learns
        scores = q or k or self.learns_bias
        products = self._products(q + k, v + scores, softmax=SOFTMAX * self.executed * scores)
        return products + Cost(bytes=2 * self.bytes if v or scores else 0)

    def again(self) -> Cost:
        """Return the cost of the scores alone, which a fused backward pass computes again."""
        executed = 2 * self.executed * self._multiplied[0]
        return Cost(executed=executed) if any((*self.learns, self.learns_bias)) else Cost()

    @property
    def _multiplied(self) -> tuple[int, int]:
        return self.padded or (self.dims.head_dim, self.dims.value_dim)

    def _products(self, of_keys: int, of_values: int, *, softmax: int) -> Cost:
        """Return the cost of so many products over features of keys, and of values."""
        features = of_keys * self.dims.head_dim + of_values * self.dims.value_dim
        d, e = self._multiplied
        return Cost(
            useful=2 * self.useful * features,
            executed=2 * self.executed * (of_keys * d + of_values * e),
            dense=2 * self.dense * features,
            elementwise=softmax,
        )


class AttentionApi(ABC):
    """A function that computes attention.

    Attributes:
        opens: Whether products with weights inside it are counted by themselves, because it
            projects; everything else in it is muted.
    """

    __slots__ = ()
    opens: ClassVar[bool] = False

    @abstractmethod
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Return the functions as a `TorchFunctionMode` or a `TorchDispatchMode` meets them."""

    @abstractmethod
    def read(self, *args: Given, **kwargs: Given) -> tuple[AttentionCall, ...] | None:
        """Return the calls of attention that it makes of its arguments; None if it makes none."""


def learns(tensor: Tensor | None) -> bool:
    """Say whether a gradient of a tensor will be asked for."""
    return tensor is not None and tensor.requires_grad and torch.is_grad_enabled()


def itemsize(tensor: Tensor) -> int:
    """Return the bytes of one number as attention computes with it, narrower under autocast."""
    narrow = autocast_type(tensor.device.type)
    if narrow is not None and tensor.is_floating_point() and tensor.dtype != torch.float64:
        return narrow.itemsize
    return tensor.itemsize
