"""Heads and batch folded into one dimension, as code for `bmm` has them."""

from functools import partial
from typing import ClassVar, final

from torch import Tensor

from attncost.measure.clocks.interface import Run
from attncost.measure.doctor.falling import Falling, sdpa
from attncost.measure.doctor.patient import Patient


@final
class SdpaInputDims(Falling):
    """Inputs of three dimensions."""

    asks: ClassVar[str] = "do inputs of 3 dimensions make fused attention keep n x n weights?"
    what: ClassVar[str] = "inputs of 3 dimensions"
    because: ClassVar[str] = "PyTorch fuses inputs of 4 dimensions only."
    do: ClassVar[str] = "scaled_dot_product_attention(q[None], k[None], v[None])[0]"
    undo: ClassVar[str] = "scaled_dot_product_attention(q, k, v)"

    def ways(self, q: Tensor, k: Tensor, v: Tensor, patient: Patient) -> tuple[Run, Run]:
        """Leave the batch out, and put it back."""
        del patient
        return partial(sdpa, q[0], k[0], v[0]), partial(sdpa, q, k, v)
