"""What one device holds of a model at work, part by part, each by an equation with its numbers.

    serving: weights + cache + what lives in one layer
    training: weights + gradients + optimizer + what all layers keep

Weights, gradients, optimizer and cache are exact. Activations are what the operations of a plain
implementation in PyTorch keep, without dropout; real ones differ, so they are estimates. Gradients
are there in full, as when they are added up over several steps. Workspaces of libraries and what an
allocator wastes are left out; norms, which every device holds whole, count as shared.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final, Literal, TypeAlias, final

from attncost.core.counts import Count, ceil_div, larger
from attncost.core.errors import ShapeError
from attncost.core.formula import written
from attncost.core.notebook import as_html
from attncost.cost.configuration import Configuration
from attncost.cost.model.layer import Layer
from attncost.cost.model.mixer import Mixer
from attncost.cost.planning.cache import cache, state
from attncost.cost.planning.precision import WHOLE, item, stored
from attncost.cost.planning.situation import STATES, Situation

Part: TypeAlias = Literal[
    "weights", "gradients", "optimizer", "cache", "state", "activations", "logits"
]

_FLOAT32: Final = "float32"
_SINGLE: Final = 4  # bytes of a number in float32


@final
@dataclass(frozen=True, slots=True)
class Need:
    """One part of what a device holds.

    Attributes:
        part: What it is.
        bytes: How much.
        equation: How it comes about, numbers in place of letters.
        exact: Whether it is more than an estimate.
    """

    _repr_html_ = as_html

    part: Part
    bytes: Count
    equation: str
    exact: bool = True


def needs(
    model: Configuration, how: Situation, *, length: Count, batch: Count = 1
) -> tuple[Need, ...]:
    """Return what the fullest device holds, parts without bytes left out.

    Args:
        model: The sizes; of symbols, if every layer is alike.
        how: How it is run.
        length: Tokens of each sequence.
        batch: Sequences on all devices together.

    Raises:
        ShapeError: If there is less than one token or sequence, or devices cannot share the heads.
    """
    for name, count in (("length", length), ("batch", batch)):
        if isinstance(count, int) and count < 1:
            raise ShapeError(f"{name} must be at least 1, got {count}.")
    for mixer, _ in model.mixers():
        heads, kv_heads = mixer.split
        how.sharding.check(heads=heads, kv_heads=kv_heads)
    local = how.sharding.batch(batch)
    parts = [_weights(model, how)]
    if how.work == "training":
        parts += [_gradients(model, how), _optimizer(model, how), _kept(model, how, length, local)]
    else:
        parts += [
            Need("cache", *cache(model, how, length=length, batch=local)),
            Need("state", *state(model, how, batch=local)),
            _live(model, how, length, local),
        ]
    parts.append(_logits(model, how, length, local))
    return tuple(part for part in parts if part.bytes)


def total(parts: tuple[Need, ...]) -> Count:
    """Return the bytes of all parts."""
    return sum(part.bytes for part in parts)


def _weights(model: Configuration, how: Situation) -> Need:
    return _of_parameters("weights", model, how, how.sharding.weights)


def _gradients(model: Configuration, how: Situation) -> Need:
    return _of_parameters("gradients", model, how, how.sharding.gradients)


def _optimizer(model: Configuration, how: Situation) -> Need:
    copies = STATES[how.optimizer] + (how.weights != _FLOAT32)
    held = how.sharding.optimizer(model.parameters)
    equation = f"{_held(model, held)} · {copies} · {_SINGLE} B"
    return Need("optimizer", _SINGLE * copies * held, equation, exact=_exact(how))


def _of_parameters(
    part: Part, model: Configuration, how: Situation, share: Callable[[Count], Count]
) -> Need:
    held = share(model.parameters)
    equation = f"{_held(model, held)} · {item(how.weights)}"
    return Need(part, stored(held, how.weights), equation, exact=_exact(how))


def _exact(how: Situation) -> bool:
    """Say whether no scales are left out, and no norms that every device holds whole."""
    return how.weights in WHOLE and how.sharding.tensor == 1


def _held(model: Configuration, held: Count) -> str:
    """Write how many parameters a device holds."""
    if held == model.parameters:
        return f"{written(held)} parameters"
    return f"{written(held)} of {written(model.parameters)} parameters"


def _kept(model: Configuration, how: Situation, n: Count, batch: Count) -> Need:
    """Return what training keeps of all layers; checkpointed, their inputs and one layer whole."""
    kept = [_of_layer(some.layer, how, n) for some in model.stack]
    if how.checkpointing:
        inputs = how.sharding.activations(0, n * model.d_model)
        most = max(kept, key=lambda one: one.bytes(how))
        counted = [(model.layers, _Kept(inputs, 0)), (1, most)]
    else:
        counted = [(some.times, one) for some, one in zip(model.stack, kept, strict=True)]
    if model.norms:
        last = replace(model.stack[0].layer, mixers=(), feed=None, norms=1)
        counted.append((1, _of_layer(last, how, n)))
    terms = " + ".join(f"{times} · {one.text(how)}" for times, one in counted)
    held = batch * sum(times * one.bytes(how) for times, one in counted)
    return Need("activations", held, f"{batch} · ({terms})", exact=False)


@final
@dataclass(frozen=True, slots=True)
class _Kept:
    """What a layer keeps: numbers in the precision of activations, and numbers in float32."""

    own: Count
    upcast: Count

    def bytes(self, how: Situation) -> Count:
        return stored(self.own, how.activations) + _SINGLE * self.upcast

    def text(self, how: Situation) -> str:
        own = f"{written(self.own)} · {item(how.activations)}"
        return f"({own} + {written(self.upcast)} · 4 B)" if self.upcast else own


def _of_layer(layer: Layer, how: Situation, n: Count) -> _Kept:
    inside = layer.inside(n, keeps_weights=how.kernel == "naive")
    own = how.sharding.activations(inside, layer.between(n))
    return _Kept(own, how.sharding.activations(0, layer.upcast(n)))


def _live(model: Configuration, how: Situation, n: Count, batch: Count) -> Need:
    """Return what lives at once in the layer that holds most.

    Beside its inside there are its input, the norm of that, and what the first layer read, which
    models of transformers hold to the end.
    """
    rows, naive = 1 if how.work == "decode" else n, how.kernel == "naive"
    inside = _most(some.layer.live(rows, keeps_weights=naive) for some in model.stack)
    if naive and how.work == "decode":
        inside += _most(_scored(mixer, n) for mixer, _ in model.mixers())
    inside = how.sharding.activations(inside, 0)
    beside = how.sharding.activations(0, 3 * rows * model.d_model)
    equation = f"{batch} · ({written(beside)} + {written(inside)}) · {item(how.activations)}"
    numbers = batch * (beside + inside)
    return Need("activations", stored(numbers, how.activations), equation, exact=False)


def _most(counts: Iterable[Count]) -> Count:
    return reduce(larger, counts)


def _scored(mixer: Mixer, n: Count) -> Count:
    """Return the scores of one token of those before it, and its weights."""
    one = mixer.cached(1)
    tokens = mixer.cached(n) // one if one else n
    return 2 * mixer.softmax_heads * (tokens - 1)


def _logits(model: Configuration, how: Situation, n: Count, batch: Count) -> Need:
    """Return what logits take: of the last token in float32, of all where nothing writes on.

    In training they are there in the precision of activations and in float32, and so is their
    gradient.
    """
    head = model.head
    if head is None or head.kind != "logits":
        return Need("logits", 0, "")
    width = ceil_div(head.width, how.sharding.tensor)
    if how.work != "training" and model.caches:
        equation = f"{batch} · {written(width)} · {_SINGLE} B"
        return Need("logits", _SINGLE * batch * width, equation, exact=False)
    numbers = batch * n * width
    if how.work != "training":
        equation = f"{batch} · {written(n)} · {written(width)} · {item(how.activations)}"
        return Need("logits", stored(numbers, how.activations), equation, exact=False)
    each = f"({item(how.activations)} + 2 · 4 B)"
    equation = f"{batch} · {written(n)} · {written(width)} · {each}"
    bytes_ = stored(numbers, how.activations) + 2 * _SINGLE * numbers
    return Need("logits", bytes_, equation, exact=False)
