"""Calls of PyTorch's fused attention that fall back to all n x n scores, unsaid.

    fused: time O(b h n m), memory O(b h n)        fallen: memory O(b h n m), several passes over it

Which they are is found out by looking at the operation that really runs, so a PyTorch that has
learned better is told apart from one that has not.
"""

from abc import abstractmethod
from typing import ClassVar, Final, final

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attncost.measure.clocks.interface import Run
from attncost.measure.doctor.instruments import Instruments
from attncost.measure.doctor.interface import Advice, Check, Diagnosis
from attncost.measure.doctor.operations import operations
from attncost.measure.doctor.patient import Patient

FUSED: Final = "_scaled_dot_product_flash_attention_for_cpu"
sdpa = scaled_dot_product_attention


class Falling(Check):
    """A way to call it.

    Attributes:
        what: The way, in words.
        because: Why that falls.
        do: The remedy, as code.
        undo: What takes it back, as code.
        gradients: Whether the call is one of training.
    """

    optional: ClassVar[bool] = True
    calls: ClassVar[float] = 12
    blocks: ClassVar[float] = 4
    what: ClassVar[str]
    because: ClassVar[str]
    do: ClassVar[str]
    undo: ClassVar[str]
    gradients: ClassVar[bool] = False

    @abstractmethod
    def ways(self, q: Tensor, k: Tensor, v: Tensor, patient: Patient) -> tuple[Run, Run]:
        """Return the call that falls and the one that does not, with the same result."""

    @final
    def answers(self, patient: Patient, instruments: Instruments) -> tuple[Diagnosis, ...]:
        """Look whether it falls; if it does, time it beside its remedy."""
        q, k, v = (patient.features_of_heads() for _ in range(3))
        what = f"attention with {self.what}, {patient.length:,} tokens"
        with torch.set_grad_enabled(self.gradients):
            falls, remedy = self.ways(q, k, v, patient)
            if FUSED in operations(falls):
                reason = "this PyTorch computes it by its fused attention."
                return (self.unasked(what, "does not apply", reason),)
            found = instruments.compare(falls, remedy)
        advice = Advice(do=self.do, undo=self.undo, because=self.because)
        return (self.judged(what, found, advice),)
