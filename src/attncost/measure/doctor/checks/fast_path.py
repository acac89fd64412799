"""PyTorch's fast path in evaluation, which keeps all n x n weights where its slow one keeps none.

It was made for short padded sequences on a GPU. On a CPU it was 1.3 x slower and took 11 x the
memory at 4096 tokens. Only sequences without padding are measured.
"""

from collections.abc import Iterator
from typing import ClassVar, Final, final

import torch
from torch import nn

from attncost.measure.clocks.interface import Run
from attncost.measure.doctor.instruments import Instruments
from attncost.measure.doctor.interface import Advice, Check, Diagnosis
from attncost.measure.doctor.operations import operations
from attncost.measure.doctor.patient import Patient, alike, with_weights
from attncost.measure.doctor.state import unchanged

_FAST: Final = {"_transformer_encoder_layer_fwd", "_native_multi_head_attention"}
_SWITCH: Final = "torch.backends.mha.set_fastpath_enabled"


@final
class FastPath(Check):
    """Layers of PyTorch in evaluation, without gradients."""

    asks: ClassVar[str] = "does the fast path of PyTorch's own layers slow evaluation down?"
    calls: ClassVar[float] = 35
    blocks: ClassVar[float] = 4

    def answers(self, patient: Patient, instruments: Instruments) -> tuple[Diagnosis, ...]:
        """Examine each kind of layer once."""
        if patient.unbuilt:
            return (self.unasked("evaluation", "cannot tell", patient.unbuilt),)
        found = tuple(
            self._examined(part, module, count, patient, instruments)
            for part, module, count in _layers(patient)
        )
        reason = f"{patient.name} holds no nn.TransformerEncoderLayer and no MultiheadAttention."
        return found or (self.unasked("evaluation", "does not apply", reason),)

    def _examined(
        self, part: str, module: nn.Module, count: int, patient: Patient, instruments: Instruments
    ) -> Diagnosis:
        what = f"{_named(module, count)} in evaluation, {patient.length:,} tokens"
        layer = with_weights(module)
        call = _forward(layer, patient)

        def switched(on: bool) -> Run:
            def run() -> object:
                torch.backends.mha.set_fastpath_enabled(on)
                return call()

            return run

        with unchanged(), torch.no_grad():
            if not torch.backends.mha.get_fastpath_enabled():
                return self.unasked(what, "does not apply", "it is switched off.", part=part)
            if not operations(call) & _FAST:
                return self.unasked(what, "does not apply", "PyTorch does not take it.", part=part)
            found = instruments.compare(switched(True), switched(False))
        because = "the fast path keeps all n x n weights of every head; the slow one keeps none."
        advice = Advice(do=f"{_SWITCH}(False)", undo=f"{_SWITCH}(True)", because=because)
        return self.judged(what, found, advice, part=part)


def _layers(patient: Patient) -> Iterator[tuple[str, nn.Module, int]]:
    """Yield a name, a layer and how many there are of its kind."""
    d, h = patient.d_model, patient.heads
    if patient.model is None:
        yield "encoder", nn.TransformerEncoderLayer(d, h, 4 * d, batch_first=True), 1
        yield "attention", nn.MultiheadAttention(d, h, batch_first=True), 1
        return
    held = alike(patient.model.module, nn.TransformerEncoderLayer)
    inside = {id(one) for each in held for layer in each for one in layer.modules()}
    for number, layers in enumerate(held, 1):
        yield f"encoder_{number}", layers[0], len(layers)
    for number, attentions in enumerate(alike(patient.model.module, nn.MultiheadAttention), 1):
        free = [one for one in attentions if id(one) not in inside]
        if free and free[0]._qkv_same_embed_dim:
            yield f"attention_{number}", free[0], len(free)


def _forward(layer: nn.Module, patient: Patient) -> Run:
    if isinstance(layer, nn.MultiheadAttention):
        x = patient.tokens(layer.embed_dim, batch_first=layer.batch_first)
        return lambda: layer(x, x, x, need_weights=False)
    assert isinstance(layer, nn.TransformerEncoderLayer)
    attention = layer.self_attn
    x = patient.tokens(attention.embed_dim, batch_first=attention.batch_first)
    return lambda: layer(x)


def _named(module: nn.Module, count: int) -> str:
    name = f"nn.{type(module).__name__}"
    return name if count == 1 else f"{count} x {name}"
