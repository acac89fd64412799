"""What our attention does in a model, layer by layer: pattern, kernel, cost, what is not said."""

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from textwrap import fill
from typing import Any, Final, final

import torch
from torch import Tensor, nn

from attncost.core.cost import Cost
from attncost.core.dims import Dims
from attncost.core.errors import UnsupportedOption
from attncost.core.notebook import as_html
from attncost.core.options import Wishes
from attncost.core.units import show
from attncost.integrations.hf.layers import attention_layers, unserved
from attncost.integrations.hf.watch import watching
from attncost.kernels.explain import Explanation
from attncost.kernels.explain import explain as explain_call
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.interface import Pattern

_RETRAIN: Final = "an approximation: weights that were trained with another attention do not fit it"
_NO_STATE: Final = (
    "caches of transformers hold keys and no state, so a token more reads all of them again"
)


@final
@dataclass(frozen=True, slots=True)
class LayerCall:
    """One call of exact attention in a model.

    Attributes:
        name: The layer.
        pattern: What it reads by position: its own pattern within the rule of its model.
        explanation: What `attention` does with it.
    """

    name: str
    pattern: Pattern
    explanation: Explanation


@final
@dataclass(frozen=True, slots=True)
class MechanismCall:
    """One call of an approximation in a model.

    Attributes:
        name: The layer.
        mechanism: What it computes.
        cost: What that costs.
    """

    name: str
    mechanism: Mechanism
    cost: Cost

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is not said by its name."""
        return (_RETRAIN, _NO_STATE) if self.mechanism.causal else (_RETRAIN,)


@final
@dataclass(frozen=True, slots=True)
class ModelExplanation:
    """What our attention did in one forward pass.

    Attributes:
        model: The class of the model.
        calls: Those of exact attention, in the order in which they were made.
        others: Attention layers that made no call: what was not reached, and layers that compute
            attention themselves.
        approximations: Calls of mechanisms, in the order in which they were made.
    """

    _repr_html_ = as_html

    model: str
    calls: tuple[LayerCall, ...]
    others: tuple[str, ...]
    approximations: tuple[MechanismCall, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.model}: {', and '.join(self._sums())}"]
        for (name, pattern, kernel), group in groupby(self.calls, _subject):
            costs = [call.explanation.cost.executed for call in group]
            times = f"{len(costs)} calls, " if len(costs) > 1 else ""
            lines.append(f"  {name}: {pattern} by {kernel}, {times}{show(sum(costs), 'flops')}")
        for (name, mechanism), alike in groupby(self.approximations, _approximating):
            costs = [call.cost.executed for call in alike]
            times = f"{len(costs)} calls, " if len(costs) > 1 else ""
            lines.append(f"  {name}: {mechanism}, {times}{show(sum(costs), 'flops')}")
        notes = Counter(note for call in self.calls for note in call.explanation.caveats)
        notes.update(note for call in self.approximations for note in call.caveats)
        lines += [f"  note ({count} calls): {note}" for note, count in notes.items()]
        lines += [f"  not seen: {name}" for name in self.others]
        return "\n".join(fill(line, 80, subsequent_indent="    ") for line in lines)

    def _sums(self) -> list[str]:
        """Return what all calls of a kind cost."""
        said = []
        if self.calls:
            executed = sum(call.explanation.cost.executed for call in self.calls)
            dense = sum(call.explanation.cost.dense for call in self.calls)
            said.append(
                f"{show(executed, 'flops')} executed in {len(self.calls)} calls of exact "
                f"attention, {show(dense, 'flops')} without any mask"
            )
        if self.approximations:
            executed = sum(call.cost.executed for call in self.approximations)
            said.append(
                f"{show(executed, 'flops')} executed in {len(self.approximations)} calls of "
                "approximations"
            )
        return said


def _approximating(call: MechanismCall) -> tuple[str, Mechanism]:
    return call.name, call.mechanism


def _subject(call: LayerCall) -> tuple[str, Pattern, str]:
    return call.name, call.pattern, call.explanation.kernel


def explain(model: nn.Module, **inputs: Any) -> ModelExplanation:  # noqa: ANN401 -- the model's
    """Run a model once, without gradients, and say what our attention does in each layer.

    Args:
        model: A model of transformers whose attention is ours, by `register` or `swap`.
        **inputs: What the model is called with.

    Raises:
        UnsupportedOption: If no layer of it calls our attention.
    """
    names = {id(module): name for name, module in attention_layers(model, "*").items()}
    calls: list[LayerCall] = []
    approximations: list[MechanismCall] = []

    def note(
        module: nn.Module,
        qkv: tuple[Tensor, Tensor, Tensor],
        attention: Pattern | Mechanism,
        wishes: Wishes,
    ) -> None:
        name = names.get(id(module), type(module).__name__)
        if isinstance(attention, Mechanism):
            dims = Dims.of(*(x.shape for x in qkv), itemsize=qkv[0].element_size())
            approximations.append(MechanismCall(name, attention, attention.cost(dims)))
        else:
            found = explain_call(*qkv, attention, **wishes)
            calls.append(LayerCall(name, attention, found))

    with watching(note), torch.no_grad():
        model(**inputs)
    if not (calls or approximations):
        raise UnsupportedOption(
            f"no layer of this {type(model).__name__} calls our attention: give it one with "
            "ac.hf.swap(model, attncost.Window(256)) or ac.hf.register."
        )
    seen = {call.name for call in calls} | {call.name for call in approximations}
    others = (*(name for name in names.values() if name not in seen), *unserved(model))
    return ModelExplanation(type(model).__name__, tuple(calls), others, tuple(approximations))
