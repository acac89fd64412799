"""The learned tensors of a mechanism, as parameters of the module that uses it."""

import torch
from torch import nn

from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.mechanisms.interface import Mechanism


def learned(mechanism: Mechanism, length: int | None, sizes: Dims) -> nn.ParameterDict:
    """Return fresh parameters, normal with a variance of 1 / (the last axis, which is summed over).

    What is summed so keeps its variance: LeCun et al. 1998, "Efficient BackProp". For Linformer a
    mixture of `length` keys is as large as a key, whatever `length` is; the variance 1 / rank of
    its Theorem 2 would multiply scores by sqrt(length / rank). A mixture of fewer keys is smaller,
    by sqrt(keys / length): half as large for a quarter of them.

    Args:
        mechanism: Names the tensors and their shapes.
        length: The most keys, needed if the shapes depend on it.
        sizes: All other sizes.

    Raises:
        ShapeError: If `length` is missing, or is given although nothing depends on it.
    """
    if needs_length(mechanism, sizes) != (length is not None):
        raise ShapeError(
            f"{mechanism} takes every length: leave length out, got {length}."
            if length is not None
            else f"{mechanism} learns tensors for a greatest number of keys: give length, such as "
            "length=512."
        )
    if length is not None and length < 1:
        raise ShapeError(f"length must be at least 1, got {length}.")
    shapes = mechanism.parameters(_at(sizes, 1 if length is None else length))
    return nn.ParameterDict({name: _normal(*shape) for name, shape in shapes.items()})


def needs_length(mechanism: Mechanism, sizes: Dims) -> bool:
    """Say whether the shapes depend on how many keys there are."""
    return mechanism.parameters(_at(sizes, 1)) != mechanism.parameters(_at(sizes, 2))


def _at(sizes: Dims, length: int) -> Dims:
    return Dims(
        heads=sizes.heads,
        kv_heads=sizes.kv_heads,
        length=length,
        head_dim=sizes.head_dim,
        d_model=sizes.d_model,
    )


def _normal(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(shape) * shape[-1] ** -0.5)
