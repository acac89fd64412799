"""Sequences of different lengths without padding, as PyTorch's nested tensors hold them.

They become one packed sequence, `(1, total, features)`, and the result becomes nested again in the
layout of the queries, which PyTorch can add to them.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nested._internal.nested_tensor import NestedTensor

from attncost.core.errors import ShapeError, UnsupportedOption


class Packed(NamedTuple):
    """Sequences one behind the other.

    Attributes:
        tokens: All of them.
        lengths: Of the sequences.
    """

    tokens: Float[Tensor, "1 t e"]
    lengths: list[int]

    def segments(self) -> Int[Tensor, "1 t"]:
        """Return the number of the sequence of each token."""
        lengths = torch.tensor(self.lengths, device=self.tokens.device)
        return torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)[None]


def packed(name: str, nested: Tensor) -> Packed:
    """Lay the sequences of a nested tensor one behind the other.

    Raises:
        ShapeError: If it does not have three axes.
        UnsupportedOption: If it is not nested.
    """
    if not nested.is_nested:
        raise UnsupportedOption(
            f"query, key and value must all be nested or none of them, {name} is not: "
            "make it nested, or pad the others and pass key_padding_mask."
        )
    if nested.dim() != 3:
        raise ShapeError(
            f"a nested {name} must have the axes (batch, length, features), got {nested.dim()}."
        )
    sequences = nested.unbind()
    return Packed(torch.cat(sequences)[None], [len(sequence) for sequence in sequences])


def nested_like(query: Tensor, out: Float[Tensor, "1 t e"], lengths: list[int]) -> Tensor:
    """Return packed tokens as a nested tensor with the sequences and the layout of the queries."""
    if isinstance(query, NestedTensor) and query.lengths() is None:
        # The very offsets: to PyTorch equal ones are the lengths of some other batch.
        return torch.nested.nested_tensor_from_jagged(out[0], query.offsets())
    return torch.nested.as_nested_tensor(list(out[0].split(lengths)), layout=query.layout)
