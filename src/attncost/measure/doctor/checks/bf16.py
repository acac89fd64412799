"""bfloat16 on a processor without instructions for it, where it saves memory and loses time.

Measured is forward, on inputs that have the type already; converting costs more.
"""

from functools import partial
from typing import ClassVar, Final, final

import torch

from attncost.measure.doctor.falling import sdpa
from attncost.measure.doctor.instruments import Instruments
from attncost.measure.doctor.interface import Advice, Check, Diagnosis
from attncost.measure.doctor.patient import Patient
from attncost.measure.host.processor import flags

# Without instructions a product takes 40 x as long as in float32.
_MULTIPLIED: Final = 1 << 26
_LONGEST: Final = 512


@final
class Bf16(Check):
    """A projection and fused attention, in both types."""

    optional: ClassVar[bool] = True
    asks: ClassVar[str] = "is bfloat16 slower than float32 on this processor?"
    of_machine: ClassVar[bool] = True
    seconds: ClassVar[float] = 2.0

    def answers(self, patient: Patient, instruments: Instruments) -> tuple[Diagnosis, ...]:
        """Time both types of both steps."""
        d = patient.d_model
        rows = max(1, min(patient.length, _MULTIPLIED // d**2))
        generator = torch.Generator().manual_seed(0)
        x, weights = (torch.rand(shape, generator=generator) for shape in ((rows, d), (d, d)))
        small, least = x.bfloat16(), weights.bfloat16()
        heads = patient.features_of_heads()[:, :, :_LONGEST]
        halved = heads.bfloat16()
        with torch.inference_mode():
            found = {
                "product": instruments.compare(
                    lambda: small @ least, lambda: x @ weights, memory=False
                ),
                "attention": instruments.compare(
                    partial(sdpa, halved, halved, halved),
                    partial(sdpa, heads, heads, heads),
                    memory=False,
                ),
            }
        sizes = {"product": f"{rows:,} x {d:,} x {d:,}", "attention": f"{heads.shape[2]:,} tokens"}
        there = sorted(flags() & {"amx_bf16", "avx512_bf16", "bf16"})
        told = f"the processor has {', '.join(there) or 'no instructions for bfloat16'}."
        advice = Advice(
            do="model.float()",
            undo="model.bfloat16()",
            because=f"float32 is faster: {told}",
            fine=f"float32 is not faster: {told}",
        )
        return tuple(
            self.judged(f"{part} in bfloat16, {sizes[part]}", one, advice, part=part)
            for part, one in found.items()
        )
