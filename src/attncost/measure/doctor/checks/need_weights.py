"""`need_weights=True`, the default of nn.MultiheadAttention, which returns n x n weights.

Whoever discards them pays for them. In a model it is seen how each attention is really called, by
a call on tensors without values; the inside of PyTorch's own layers does not ask for weights.
"""

import inspect
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, ClassVar, Final, final

import torch
from torch import nn

from attncost.core.errors import AttnCostError
from attncost.integrations.theirs import foreign
from attncost.measure.clocks.interface import Run
from attncost.measure.doctor.instruments import Instruments
from attncost.measure.doctor.interface import Advice, Check, Diagnosis
from attncost.measure.doctor.patient import Model, Patient, sizes, with_weights
from attncost.measure.doctor.state import unchanged

_FORWARD: Final = inspect.signature(nn.MultiheadAttention.forward)
_BECAUSE: Final = "it returns the weights of every pair; if nobody reads them, ask for none."


@final
class NeedWeights(Check):
    """Attention that returns its weights, beside one that returns none."""

    asks: ClassVar[str] = "what do the weights cost that nn.MultiheadAttention returns by default?"
    calls: ClassVar[float] = 30
    blocks: ClassVar[float] = 4

    def answers(self, patient: Patient, instruments: Instruments) -> tuple[Diagnosis, ...]:
        """Examine those like the first that asks for weights, in training and in evaluation."""
        what = "nn.MultiheadAttention"
        if patient.unbuilt:
            return (self.unasked(what, "cannot tell", patient.unbuilt),)
        if patient.model is None:
            made = nn.MultiheadAttention(patient.d_model, patient.heads, batch_first=True)
            asking = [made]
        else:
            try:
                asking = _asking(patient.model, patient.name)
            except AttnCostError as error:
                return (self.unasked(what, "cannot tell", str(error)),)
        if not asking:
            reason = f"{patient.name} asks no nn.MultiheadAttention for weights."
            return (self.unasked(what, "does not apply", reason),)
        return self._examined(asking, patient, instruments)

    def _examined(
        self, asking: list[nn.MultiheadAttention], patient: Patient, instruments: Instruments
    ) -> tuple[Diagnosis, ...]:
        layer = with_weights(asking[0])
        layer.dropout = 0.0  # Dropout has a check of its own.
        x = patient.tokens(layer.embed_dim, batch_first=layer.batch_first)
        count = sum(sizes(one) == sizes(asking[0]) for one in asking)
        times = "" if count == 1 else f"{count} x "
        what = f"{times}nn.MultiheadAttention, returning weights,"
        found = []
        do, undo = "mha(x, x, x, need_weights=False)", "mha(x, x, x)"
        for training in (True, False):
            mode = "training" if training else "evaluation"
            if not training and torch.backends.mha.get_fastpath_enabled():
                do = f"torch.backends.mha.set_fastpath_enabled(False); {do}"
                undo = f"torch.backends.mha.set_fastpath_enabled(True); {undo}"
            layer.train(training)
            with torch.set_grad_enabled(training):
                compared = instruments.compare(*_ways(layer, x, switch=not training))
            advice = Advice(do=do, undo=undo, because=_BECAUSE)
            where = f"{what} {mode}, {patient.length:,} tokens"
            found.append(self.judged(where, compared, advice, part=mode))
        return tuple(found)


def _ways(layer: nn.MultiheadAttention, x: torch.Tensor, *, switch: bool) -> tuple[Run, Run]:
    """Return both calls; in evaluation the fast path would keep the weights all the same."""
    fast = torch.backends.mha.get_fastpath_enabled()

    def way(needed: bool) -> Run:
        def run() -> object:
            torch.backends.mha.set_fastpath_enabled(fast and (needed or not switch))
            return layer(x, x, x, need_weights=needed)

        return run

    return way(True), way(False)


def _asking(model: Model, name: str) -> list[nn.MultiheadAttention]:
    """Call a model, and return its attentions that are asked for weights.

    Raises:
        ShapeError: If it cannot be called.
    """
    asked: dict[int, nn.MultiheadAttention] = {}

    def look(module: nn.Module, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        given = _FORWARD.bind(module, *inputs, **options)
        given.apply_defaults()
        if given.arguments["need_weights"] and module._qkv_same_embed_dim:
            assert isinstance(module, nn.MultiheadAttention)
            asked[id(module)] = module

    attentions = [one for one in model.module.modules() if isinstance(one, nn.MultiheadAttention)]
    if not attentions:
        return []
    model.module.eval()
    with ExitStack() as stack:
        for one in attentions:
            hook = one.register_forward_pre_hook(look, with_kwargs=True)
            stack.callback(hook.remove)
        stack.enter_context(unchanged())
        # The fast path would call no attention at all.
        torch.backends.mha.set_fastpath_enabled(False)
        with foreign(name), torch.no_grad():
            model.module(*model.inputs, **model.options)
    return list(asked.values())
