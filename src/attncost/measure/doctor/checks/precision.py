"""Products of float32 in a lower precision inside, where the processor has one that is faster.

The error is that of one product: the largest, over the largest exact element.
"""

from typing import ClassVar, Final, final

import torch

from attncost.measure.clocks.interface import Run
from attncost.measure.doctor.instruments import Instruments
from attncost.measure.doctor.interface import Advice, Check, Diagnosis
from attncost.measure.doctor.patient import Patient
from attncost.measure.doctor.state import PRODUCTS

_MULTIPLIED: Final = 1 << 28
# What `torch.set_float32_matmul_precision("medium")` sets for a CPU.
_LOWEST: Final = "bf16"


@final
class Precision(Check):
    """One projection, at the present precision and at the lowest."""

    asks: ClassVar[str] = "would products of a lower precision be faster, and how wrong?"
    of_machine: ClassVar[bool] = True
    seconds: ClassVar[float] = 1.0

    def answers(self, patient: Patient, instruments: Instruments) -> tuple[Diagnosis, ...]:
        """Time both, and measure the error of the lower one."""
        d = patient.d_model
        rows = max(1, min(patient.length, _MULTIPLIED // d**2))
        generator = torch.Generator().manual_seed(0)
        x, weights = (torch.rand(shape, generator=generator) for shape in ((rows, d), (d, d)))
        before, now = PRODUCTS.fp32_precision, torch.get_float32_matmul_precision()
        what = f"a product in float32, {rows:,} x {d:,} x {d:,}"
        if now == "medium":
            return (self.unasked(what, "does not apply", "the lowest is set already."),)

        def at(precision: str) -> Run:
            def run() -> torch.Tensor:
                PRODUCTS.fp32_precision = precision
                return x @ weights

            return run

        lower = at(_LOWEST)
        exact, rough = x.double() @ weights.double(), lower()
        assert isinstance(rough, torch.Tensor)
        error = float((rough - exact).abs().max() / exact.abs().max())
        with torch.inference_mode():
            found = instruments.compare(at(before), lower, memory=False)
        switch = "torch.set_float32_matmul_precision"
        advice = Advice(
            do=f'{switch}("medium")',
            undo=f'{switch}("{now}")',
            because=f"bfloat16 inside of products is faster; relative error {error:.1e}.",
            fine=f"bfloat16 inside of products is not faster here; relative error {error:.1e}.",
        )
        return (self.judged(what, found, advice),)
