"""Dropout inside of PyTorch's fused attention, which on a CPU is not fused then."""

from functools import partial
from typing import ClassVar, final

from torch import Tensor

from attncost.kernels.attention import attention
from attncost.measure.clocks.interface import Run
from attncost.measure.doctor.falling import Falling, sdpa
from attncost.measure.doctor.patient import Patient

_DROPPED = 0.1


@final
class SdpaDropout(Falling):
    """Forward, keeping what the backward pass needs."""

    asks: ClassVar[str] = "does dropout make fused attention keep all n x n weights?"
    calls: ClassVar[float] = 30
    what: ClassVar[str] = "dropout in training"
    because: ClassVar[str] = "PyTorch's fused attention of CPUs has no dropout: it falls to n x n."
    do: ClassVar[str] = "attncost.attention(q, k, v, dropout_p=p)"
    undo: ClassVar[str] = "scaled_dot_product_attention(q, k, v, dropout_p=p)"
    gradients: ClassVar[bool] = True

    def ways(self, q: Tensor, k: Tensor, v: Tensor, patient: Patient) -> tuple[Run, Run]:
        """Drop the same share in both."""
        del patient
        for one in (q, k, v):
            one.requires_grad_()
        return (
            partial(sdpa, q, k, v, dropout_p=_DROPPED),
            partial(attention, q, k, v, dropout_p=_DROPPED),
        )
