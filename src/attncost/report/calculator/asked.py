"""The formulas of the page, each asked of this package with symbols in place of sizes.

    value = formula(sizes)   for every combination of the choices that it depends on

A formula may name another as `@name`, so that one line stays one thought. A combination without a
formula, such as the cache of an approximation, has None. Nothing here adds up costs: functions of
`cost` do, and what is written here is which of them is asked for what.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final, TypeAlias, cast

from attncost.core.cost import Cost
from attncost.core.counts import Count, symbol
from attncost.cost.configuration import Configuration, Work
from attncost.cost.model.ends import Embedding
from attncost.cost.model.grouped import Grouped
from attncost.cost.model.layer import Layers
from attncost.cost.planning.cache import cache as cache_of
from attncost.cost.planning.cache import cache_read
from attncost.cost.planning.needs import needs
from attncost.cost.planning.precision import stored
from attncost.cost.planning.situation import Kernel, Optimizer, Situation
from attncost.cost.planning.speed import flops as flops_of
from attncost.kernels.reference import Reference
from attncost.mechanisms.interface import Priced
from attncost.patterns.custom import Custom
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.report.calculator.attentions import attentions, dials
from attncost.report.calculator.model import attended, built
from attncost.report.calculator.settings import ON_OFF, SIZES, TRAINED, USUAL
from attncost.report.calculator.told import Told

Chosen: TypeAlias = Mapping[str, str]
Formula: TypeAlias = Callable[[Chosen], Count | None]
_Key: TypeAlias = tuple[tuple[str, str], ...]

# Reads pairs that are counted and not known, whatever stands in its place.
_STAND_IN: Final = Custom(lambda query, key: query >= key)


@cache
def symbols() -> dict[str, Count]:
    """Return the symbol of every size."""
    return {size.name: symbol(size.name) for size in (*SIZES, *dials())}


def told(name: str) -> Count:
    """Return the symbol of another quantity."""
    return symbol(f"@{name}")


def followed(name: str) -> dict[str, str]:
    """Return what follows from an attention: whether it keeps past tokens, and is exact."""
    found = _dialled(name)
    exact = isinstance(found, Pattern)
    caches = isinstance(found, Pattern) and bool(_attended(found).cached(1))
    return {"caches": ON_OFF[caches], "exact": ON_OFF[exact]}


def pairs(chosen: Chosen) -> Count | None:
    """Return the pairs that one head reads."""
    found = _dialled(chosen["attention"])
    return found.pairs(_rows(chosen), _of("length")) if isinstance(found, Pattern) else None


def core(chosen: Chosen) -> Count | None:
    """Return the FLOPs of attention between the projections of a layer."""
    cost = _core(chosen)
    return None if cost is None else _with_pairs(cost.useful)


def dense_core(chosen: Chosen) -> Count | None:
    """Return what they would be without a mask."""
    cost = _core(chosen)
    return None if cost is None else cost.dense


def executed_core(chosen: Chosen) -> Count | None:
    """Return what the definition multiplies; how many pairs a fused kernel does is not known."""
    found = _dialled(chosen["attention"])
    if not isinstance(found, Pattern) or chosen["kernel"] != "naive":
        return None
    dims = _attended(found).dims(_rows(chosen), _of("length"))
    return Reference().cost(found, dims).executed


def elementwise_core(chosen: Chosen) -> Count | None:
    """Return its operations beside FLOPs, such as those of a softmax."""
    cost = _core(chosen)
    return None if cost is None else _with_pairs(cost.elementwise)


def in_all(name: str) -> Formula:
    """Return the formula of all that a forward pass takes of what one layer does."""
    return lambda _: _of("batch") * _of("layers") * told(name)


def attention_flops(chosen: Chosen) -> Count:
    """Return the FLOPs of attention in all layers and passes."""
    layer = told("core")
    every: Any = _flops(_key(chosen, "work", "checkpointing"), layer)
    # They grow with those of a layer in a straight line, so this is their share.
    share: Count = every.diff(layer) * layer
    return share


def other_flops(chosen: Chosen) -> Count:
    """Return the FLOPs of all the rest."""
    key = _key(chosen, "work", "checkpointing", "feed", "head", "caches")
    return _flops(key, 0)


def of_weights(part: str) -> Formula:
    """Return the formula of what a device holds of every parameter."""

    def formula(chosen: Chosen) -> Count | None:
        numbers = told("parameters")
        if part == "weights":
            return stored(numbers, chosen["weights"])
        if chosen["weights"] not in TRAINED:
            return None
        model = Configuration(name="told", d_model=0, stack=(), embedding=Embedding(others=numbers))
        return _part(part, model, {**chosen, "work": "training"})

    return formula


def weights_read(chosen: Chosen) -> Count:
    """Return the bytes of the parameters that are read."""
    return stored(told("multiplied"), chosen["weights"])


def cached(chosen: Chosen) -> Count | None:
    """Return the bytes of keys and values."""
    model = _model(chosen)
    return model and cache_of(model, _how(chosen), length=_of("length"), batch=_of("batch"))[0]


def read(chosen: Chosen) -> Count | None:
    """Return the bytes of them that the next token reads."""
    model = _model(chosen)
    return model and cache_read(model, _how(chosen), length=_of("length"), batch=_of("batch"))


def held(chosen: Chosen) -> Count | None:
    """Return the numbers that a layer keeps for a backward pass, or that live in it at once."""
    key = {**chosen, "attention": "causal"}
    layer = built(symbols(), key, Full()).stack[0].layer
    inside = layer.inside if chosen["work"] == "training" else layer.live
    return inside(_rows(chosen), keeps_weights=chosen["kernel"] == "naive")


def activations(chosen: Chosen) -> Count | None:
    """Return the bytes of what is kept or lives at once."""
    if chosen["work"] == "training":
        names = ("work", "activations", "checkpointing", "norm", "last_norm")
        return _activations(_key(chosen, *names))
    key = _key(chosen, "work", "activations")
    if chosen["work"] == "decode" and chosen["kernel"] == "naive":
        if chosen["attention"] not in _alike():
            return None
        key = (*key, ("kernel", "naive"), ("attention", _alike()[chosen["attention"]]))
    return _activations(key)


def logits(chosen: Chosen) -> Count:
    """Return the bytes of logits."""
    head = {"tied": "logits", "masked": "logits"}.get(chosen["head"], chosen["head"])
    return _logits((*_key(chosen, "work", "activations", "caches"), ("head", head)))


def _of(name: str) -> Count:
    return symbols()[name]


def _dialled(name: str) -> Pattern | Priced:
    return next(one for one in attentions() if one.name == name).of(symbols())


def _rows(chosen: Chosen) -> Count:
    """Return the tokens that ask: one, if one is written."""
    return 1 if chosen["work"] == "decode" else _of("length")


def _attended(pattern: Pattern) -> Grouped:
    return attended(symbols(), USUAL, pattern)


def _model(chosen: Chosen) -> Configuration | None:
    found = _dialled(chosen["attention"])
    return built(symbols(), chosen, found) if isinstance(found, Pattern) else None


def _core(chosen: Chosen) -> Cost | None:
    """Return what attention costs in a layer; of a pattern, with pairs that are not counted."""
    n, found = _of("length"), _dialled(chosen["attention"])
    if isinstance(found, Pattern):
        return _attended(_STAND_IN).core(_rows(chosen), n)
    return None if chosen["work"] == "decode" else _attended(Full()).core(n, n, found)


def _with_pairs(count: Any) -> Count:  # noqa: ANN401 -- SymPy is untyped
    found: Count = count.replace(
        lambda part: getattr(part, "counted", False), lambda _: told("pairs")
    )
    return found


def _key(chosen: Chosen, *names: str) -> _Key:
    return tuple((name, chosen[name]) for name in names)


@cache
def _alike() -> dict[str, str]:
    """Return for every pattern the first one that keeps as much of past tokens."""
    first: dict[Count, str] = {}
    found = {}
    for one in attentions():
        pattern = one.of(symbols())
        if isinstance(pattern, Pattern):
            found[one.name] = first.setdefault(_attended(pattern).cached(_of("length")), one.name)
    return found


@cache
def _flops(key: _Key, layer: Count) -> Count:
    """Return the FLOPs of all, by those of the attention of a layer."""
    chosen = USUAL | dict(key)
    pattern = _STAND_IN if chosen["caches"] == "on" else Full()
    model = told_of(built(symbols(), chosen, pattern), useful=layer)
    return _of("batch") * flops_of(model, _how(chosen), length=_of("length"))


@cache
def _activations(key: _Key) -> Count:
    chosen = USUAL | dict(key)
    model = _model(chosen)
    assert model
    bare = replace(model, head=None, embedding=Embedding())
    layers = told_of(bare, feed=False, numbers=0, held=told("held"), alive=told("held"))
    return _part("activations", layers, chosen)


@cache
def _logits(key: _Key) -> Count:
    chosen = USUAL | dict(key)
    pattern = _STAND_IN if chosen["caches"] == "on" else Full()
    bare = replace(built(symbols(), chosen, pattern), embedding=Embedding())
    return _part("logits", told_of(bare, feed=False, numbers=0), chosen)


def _part(name: str, model: Configuration, chosen: Chosen) -> Count:
    found = needs(model, _how(chosen), length=_of("length"), batch=_of("batch"))
    return next((one.bytes for one in found if one.part == name), 0)


def told_of(model: Configuration, *, feed: bool = True, **given: Count) -> Configuration:
    """Return a model whose layers have attention of which something is told."""
    layer = model.stack[0].layer
    (inner,) = layer.mixers
    assert isinstance(inner, Grouped)
    mixers = (Told(inner=inner, **given),)
    told_layer = replace(layer, mixers=mixers, feed=layer.feed if feed else None)
    return replace(model, stack=(Layers(told_layer, model.layers),))


def _how(chosen: Chosen) -> Situation:
    return Situation(
        work=cast("Work", chosen["work"]),
        kernel=cast("Kernel", chosen["kernel"]),
        optimizer=cast("Optimizer", chosen["optimizer"]),
        weights=chosen["weights"],
        kv=chosen["kv"],
        activations=chosen["activations"],
        page=_of("page"),
        checkpointing=chosen["checkpointing"] == "on",
    )
