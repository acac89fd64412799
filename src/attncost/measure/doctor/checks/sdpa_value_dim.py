"""Values that have another number of features than keys have."""

from functools import partial
from typing import ClassVar, final

from torch import Tensor

from attncost.kernels.attention import attention
from attncost.measure.clocks.interface import Run
from attncost.measure.doctor.falling import Falling, sdpa
from attncost.measure.doctor.patient import Patient


@final
class SdpaValueDim(Falling):
    """Values of half the features."""

    asks: ClassVar[str] = "does value_dim != head_dim make fused attention keep n x n weights?"
    what: ClassVar[str] = "value_dim != head_dim"
    because: ClassVar[str] = "PyTorch fuses only values that have as many features as keys."
    do: ClassVar[str] = "attncost.attention(q, k, v), or pad v: F.pad(v, (0, head_dim - value_dim))"
    undo: ClassVar[str] = "scaled_dot_product_attention(q, k, v)"

    def ways(self, q: Tensor, k: Tensor, v: Tensor, patient: Patient) -> tuple[Run, Run]:
        """Take the first features of each value."""
        values = v[..., : max(1, patient.head_dim // 2)].contiguous()
        return partial(sdpa, q, k, values), partial(attention, q, k, values)
