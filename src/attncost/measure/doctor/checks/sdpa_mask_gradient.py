"""A learned bias, such as that of T5, which has a gradient even where nobody asks for it."""

from functools import partial
from typing import ClassVar, final

import torch
from torch import Tensor

from attncost.measure.clocks.interface import Run
from attncost.measure.doctor.falling import Falling, sdpa
from attncost.measure.doctor.patient import Patient


@final
class SdpaMaskGradient(Falling):
    """Inference, without gradients, with a mask that could have one."""

    asks: ClassVar[str] = "does a learned mask make fused attention keep n x n weights?"
    what: ClassVar[str] = "a learned mask under no_grad"
    because: ClassVar[str] = "PyTorch fuses no mask that requires a gradient, not even in no_grad."
    do: ClassVar[str] = "scaled_dot_product_attention(q, k, v, attn_mask=mask.detach())"
    undo: ClassVar[str] = "scaled_dot_product_attention(q, k, v, attn_mask=mask)"

    def ways(self, q: Tensor, k: Tensor, v: Tensor, patient: Patient) -> tuple[Run, Run]:
        """Give one mask for all heads, and the same detached."""
        mask = torch.zeros(patient.length, patient.length, requires_grad=True)
        return (
            partial(sdpa, q, k, v, attn_mask=mask),
            partial(sdpa, q, k, v, attn_mask=mask.detach()),
        )
