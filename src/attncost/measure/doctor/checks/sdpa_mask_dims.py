"""A mask of three dimensions, one for each head and none for the batch."""

from functools import partial
from typing import ClassVar, final

import torch
from torch import Tensor

from attncost.measure.clocks.interface import Run
from attncost.measure.doctor.falling import Falling, sdpa
from attncost.measure.doctor.patient import Patient


@final
class SdpaMaskDims(Falling):
    """A bias for each head, broadcast over the batch by its missing dimension."""

    asks: ClassVar[str] = "does a mask of 3 dimensions make fused attention keep n x n weights?"
    blocks: ClassVar[float] = 5
    what: ClassVar[str] = "a mask of 3 dimensions"
    because: ClassVar[str] = "PyTorch fuses masks of 2 and 4 dimensions only."
    do: ClassVar[str] = "scaled_dot_product_attention(q, k, v, attn_mask=mask[None])"
    undo: ClassVar[str] = "scaled_dot_product_attention(q, k, v, attn_mask=mask)"

    def ways(self, q: Tensor, k: Tensor, v: Tensor, patient: Patient) -> tuple[Run, Run]:
        """Give the same mask with its batch."""
        mask = torch.zeros(patient.heads, patient.length, patient.length)
        return (
            partial(sdpa, q, k, v, attn_mask=mask),
            partial(sdpa, q, k, v, attn_mask=mask[None]),
        )
