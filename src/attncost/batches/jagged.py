"""A packed row as a nested tensor of PyTorch, and back: the same numbers under another name.

Modules that know nested tensors (`Embedding`, `Linear`, `LayerNorm`, `ac.nn.MultiheadAttention`)
then keep texts apart without being told. Padding at the end of a row is one more sequence; empty
texts, which take no slot, are none. What is nested by two calls has two layouts, which PyTorch does
not add to each other: nest the ids and derive all else from them.

    states = encoder(embedding(jagged(batch["input_ids"], batch["segments"])))
    texts = by_text(packed_row(states), batch)
"""

import torch
from jaxtyping import Int, Int32, Shaped
from torch import Tensor
from torch.nested import nested_tensor_from_jagged
from torch.nested._internal.nested_tensor import NestedTensor

from attncost.core.errors import ShapeError


def ends(segments: Int[Tensor, "1 t"]) -> Int32[Tensor, "_"]:
    """Return where documents end, after a 0: `cu_seqlens` of kernels for packed documents.

    >>> ends(torch.tensor([[0, 0, 0, 2, 2]]))
    tensor([0, 3, 5], dtype=torch.int32)

    Args:
        segments: The number of the document of each token; equal neighbours are one document. On an
            accelerator, counting them waits for it.
    """
    last = torch.ones_like(segments[0], dtype=torch.bool)
    last[:-1] = segments[0, 1:] != segments[0, :-1]
    return torch.nn.functional.pad(last.nonzero().flatten() + 1, (1, 0)).int()


def jagged(packed: Shaped[Tensor, "1 t *f"], segments: Int[Tensor, "1 t"]) -> Tensor:
    """Return packed tokens as a nested tensor in the jagged layout, without a copy.

    Args:
        packed: Ids or features of each slot.
        segments: The number of the document of each.

    Raises:
        ShapeError: If there is no slot, as of empty texts alone.
    """
    if not packed.shape[1]:
        raise ShapeError(
            "a nested tensor must have a sequence, got a packed row without slots: leave out "
            "batches of empty texts alone."
        )
    return nested_tensor_from_jagged(packed[0], ends(segments))


def packed_row(nested: Tensor) -> Shaped[Tensor, "1 t *f"]:
    """Return the sequences of a nested tensor one behind the other, without a copy.

    Args:
        nested: In the jagged layout, such as modules make of what `jagged` returns.

    Raises:
        ShapeError: If it is none, or has holes.
    """
    if not isinstance(nested, NestedTensor) or nested.lengths() is not None:
        raise ShapeError(
            "a nested tensor must have the layout torch.jagged and no holes, got another one: pass "
            "what modules make of jagged(packed, segments)."
        )
    values: Tensor = nested.values()
    return values[None]
