"""What our attention does in a model, layer by layer: pattern, kernel, cost, what is not said."""

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from textwrap import fill
from typing import Any, final

import torch
from torch import Tensor, nn

from attncost.core.errors import UnsupportedOption
from attncost.core.options import Wishes
from attncost.core.units import show
from attncost.integrations.hf.layers import attention_layers, unserved
from attncost.integrations.hf.watch import watching
from attncost.kernels.explain import Explanation
from attncost.kernels.explain import explain as explain_call
from attncost.patterns.interface import Pattern


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
class ModelExplanation:
    """What our attention did in one forward pass.

    Attributes:
        model: The class of the model.
        calls: In the order in which they were made.
        others: Attention layers that made none: mechanisms, what was not reached, and layers that
            compute attention themselves.
    """

    model: str
    calls: tuple[LayerCall, ...]
    others: tuple[str, ...]

    def __str__(self) -> str:
        executed = sum(call.explanation.cost.executed for call in self.calls)
        dense = sum(call.explanation.cost.dense for call in self.calls)
        lines = [
            f"{self.model}: {show(executed, 'flops')} executed in {len(self.calls)} calls of "
            f"exact attention, {show(dense, 'flops')} without any mask"
        ]
        for (name, pattern, kernel), group in groupby(self.calls, _subject):
            costs = [call.explanation.cost.executed for call in group]
            times = f"{len(costs)} calls, " if len(costs) > 1 else ""
            lines.append(f"  {name}: {pattern} by {kernel}, {times}{show(sum(costs), 'flops')}")
        notes = Counter(note for call in self.calls for note in call.explanation.caveats)
        lines += [f"  note ({count} calls): {note}" for note, count in notes.items()]
        lines += [f"  not seen: {name}" for name in self.others]
        return "\n".join(fill(line, 80, subsequent_indent="    ") for line in lines)


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

    def note(
        module: nn.Module, qkv: tuple[Tensor, Tensor, Tensor], pattern: Pattern, wishes: Wishes
    ) -> None:
        found = explain_call(*qkv, pattern, **wishes)
        calls.append(LayerCall(names.get(id(module), type(module).__name__), pattern, found))

    with watching(note), torch.no_grad():
        model(**inputs)
    if not calls:
        raise UnsupportedOption(
            f"no layer of this {type(model).__name__} calls our attention: give it one with "
            "ac.hf.swap(model, attncost.Window(256)) or ac.hf.register."
        )
    seen = {call.name for call in calls}
    others = (*(name for name in names.values() if name not in seen), *unserved(model))
    return ModelExplanation(type(model).__name__, tuple(calls), others)
