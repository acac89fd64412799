"""What is told of a step of training: its loss, its gradient, and how each layer attends.

    largest logit   max over queries and keys of q k^T scale, which grows before a run diverges:
                    Dehghani et al. 2023, arXiv:2302.05442
    entropy         mean over queries of -sum w ln w, which falls to 0 where attention collapses:
                    Zhai et al. 2023, arXiv:2303.06296

Both are those of the step's own forward pass, which stays the same to the last bit, in a few of its
sequences: O(n d) memory a sequence, and the time of one more forward pass of attention in these. A
mechanism weighs no pair, so it has neither. What a model computes past the attention functions of
PyTorch, transformers and this package is not seen, and compiled code cannot be.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, final

import torch
from torch import Tensor, nn

from attncost.core.notebook import as_html
from attncost.core.options import Wishes
from attncost.mechanisms.interface import Mechanism
from attncost.nn.attention import Attention
from attncost.view.capture.captured import Captured
from attncost.view.seen import Seen
from attncost.view.statistics.gauges import Gauges
from attncost.view.statistics.statistics import statistics

_SEQUENCES: Final = 4
# What a caller asks of each sequence by itself.
_APART: Final[tuple[Literal["key_mask", "segments", "bias"], ...]] = (
    "key_mask",
    "segments",
    "bias",
)
_GAUGES: Final = Gauges(widths=(), quantiles=(), first=0, map_size=1)


@final
@dataclass(frozen=True, slots=True)
class LayerRow:
    """How one layer attends.

    Attributes:
        largest_logit: The largest score of a query and a key that it may read; None for a
            mechanism, and where no query reads anything.
        entropy: Of the weights of a query, in nats, on average; None likewise.
    """

    largest_logit: float | None
    entropy: float | None


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One step.

    Attributes:
        step: Its number, from 0.
        loss: Mean cross entropy of its labels before the step, in nats.
        rate: The learning rate.
        gradient_norm: Of all gradients together, before they were clipped.
        layers: Of each layer with attention, in the order of the model; None in a step that was
            not looked at.
    """

    _repr_html_ = as_html

    step: int
    loss: float
    rate: float
    gradient_norm: float
    layers: tuple[LayerRow, ...] | None = None

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> "Row":
        """Read it from what `written` returns.

        Raises:
            KeyError: If something is missing.
            TypeError: If something is not what it should be.
            ValueError: If a text is no number.
        """
        layers = written["layers"]
        return cls(
            step=int(written["step"]),
            loss=float(written["loss"]),
            rate=float(written["rate"]),
            gradient_norm=float(written["gradient_norm"]),
            layers=None if layers is None else tuple(map(_layer, layers)),
        )

    def written(self) -> dict[str, Any]:
        """Return it as JSON has it; what is not finite becomes a text such as "nan"."""
        layers = self.layers
        return {
            "step": self.step,
            "loss": _number(self.loss),
            "rate": self.rate,
            "gradient_norm": _number(self.gradient_norm),
            "layers": None
            if layers is None
            else [
                {"largest_logit": _number(one.largest_logit), "entropy": _number(one.entropy)}
                for one in layers
            ],
        }


def layer_rows(model: nn.Module, captured: Captured) -> tuple[LayerRow, ...]:
    """Return how each layer of a model attended, in the order of its modules.

    Args:
        model: The model.
        captured: What it did in one forward pass; calls of several passes are put together.
    """
    order = {name: at for at, (name, _) in enumerate(model.named_modules())}
    # What a mechanism calls inside weighs mixtures of keys, and no pair of tokens.
    mixing = {name for name, module in model.named_modules() if _mixes(module)}
    rows = {name: LayerRow(None, None) for name in mixing}
    rows |= {name: _of_calls(calls) for name, calls in captured.items() if name not in mixing}
    return tuple(rows[name] for name in sorted(rows, key=order.__getitem__))


def _mixes(module: nn.Module) -> bool:
    return isinstance(module, Attention) and isinstance(module.attention, Mechanism)


def _of_calls(calls: tuple[Seen, ...]) -> LayerRow:
    logits, entropies = zip(*map(_spread, calls), strict=True)
    logit, entropy = torch.cat(logits), torch.cat(entropies)
    if not len(logit):
        return LayerRow(None, None)
    return LayerRow(float(logit.max()), float(entropy.mean()))


def _spread(seen: Seen) -> tuple[Tensor, Tensor]:
    """Return the largest logit and the entropy of each query that reads something."""
    found = statistics(
        seen.q[:_SEQUENCES],
        seen.k[:_SEQUENCES],
        pattern=seen.pattern,
        gauges=_GAUGES,
        **_of_first(seen.wishes),
    )
    reads = found.logit != -math.inf
    return found.logit[reads], found.entropy[reads]


def _of_first(wishes: Wishes) -> Wishes:
    """Return what is asked of the first sequences."""
    found = wishes.copy()
    for name in _APART:
        if (wish := wishes.get(name)) is not None:
            found[name] = wish[:_SEQUENCES]
    return found


def _layer(written: Mapping[str, Any]) -> LayerRow:
    logit, entropy = written["largest_logit"], written["entropy"]
    return LayerRow(
        None if logit is None else float(logit), None if entropy is None else float(entropy)
    )


def _number(value: float | None) -> float | str | None:
    """Return what JSON has for a number, of which it knows the finite ones alone."""
    return value if value is None or math.isfinite(value) else str(value)
