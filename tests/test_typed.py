"""The hook checks what functions of attncost take and return: shapes, and all other types."""

import jaxtyping
import pytest
import torch
from jaxtyping import Float, TypeCheckError
from tests.typed import checked
from torch import Tensor

from attncost import Window, attention
from attncost.core.units import show


def test_a_value_of_another_type_is_refused():
    assert show(3, "bytes") == "3 B"  # an int where a float is written
    with pytest.raises(TypeCheckError, match="parameter unit=3"):
        show(3, 3)
    with pytest.raises(TypeCheckError, match="parameter width='4'"):
        Window("4")


def test_shapes_that_do_not_fit_together_are_refused():
    q, v = torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 5, 4)
    with pytest.raises(TypeCheckError, match="parameter 'v'"):
        attention(q, q, v)
    with pytest.raises(TypeCheckError, match="parameter 'query'"):
        Window(4).allowed(torch.zeros(3), torch.zeros(3))


def test_what_a_function_returns_is_checked():
    def length(rows: list[int]) -> int:
        return rows  # type: ignore[return-value]

    def twice(x: Float[Tensor, "n m"]) -> Float[Tensor, "n m"] | None:
        return torch.cat([x, x])

    with pytest.raises(TypeCheckError, match=r"return \[1\]"):
        jaxtyping.jaxtyped(length, typechecker=checked)([1])
    with pytest.raises(TypeCheckError, match="return value"):
        jaxtyping.jaxtyped(twice, typechecker=checked)(torch.zeros(2, 3))
