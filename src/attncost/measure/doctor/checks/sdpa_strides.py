"""Queries, keys or values whose features do not lie side by side in memory."""

from functools import partial
from typing import ClassVar, final

from torch import Tensor

from attncost.measure.clocks.interface import Run
from attncost.measure.doctor.falling import Falling, sdpa
from attncost.measure.doctor.patient import Patient


@final
class SdpaStrides(Falling):
    """Keys kept as their transpose, as a cache for products keeps them."""

    asks: ClassVar[str] = "do strided features make fused attention keep n x n weights?"
    what: ClassVar[str] = "strided features in k"
    because: ClassVar[str] = "PyTorch fuses only inputs whose features are contiguous."
    do: ClassVar[str] = "scaled_dot_product_attention(q, k.contiguous(), v)"
    undo: ClassVar[str] = "scaled_dot_product_attention(q, k, v)"

    def ways(self, q: Tensor, k: Tensor, v: Tensor, patient: Patient) -> tuple[Run, Run]:
        """Let tokens lie side by side, and undo that at each call."""
        del patient
        strided = k.mT.contiguous().mT
        return partial(sdpa, q, strided, v), lambda: sdpa(q, strided.contiguous(), v)
