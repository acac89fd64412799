"""The price of a window in a layer, the line that swaps it in, and what that does to the model.

The model runs: once as it is, and once with each line. So the damage is not guessed from the maps,
but it is that of these inputs and of a model that has never been trained with the window: other
texts and tasks may lose more, and training may win it back. Damages of several layers do not add
up. Where attention was computed by other kernels or in half precision, what they round is part of
it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TypeAlias, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attncost.core.errors import AttnCostError, ShapeError, UnknownName
from attncost.core.notebook import as_html
from attncost.integrations.hf.trial import Model, undisturbed
from attncost.patterns.interface import Pattern
from attncost.view.capture.choice import chosen
from attncost.view.prices import words
from attncost.view.prices.executed import is_faster, share_of
from attncost.view.prices.heads import check_belongs
from attncost.view.prices.moved import relative_change
from attncost.view.prices.offers import Offer, Offers, Spread, offers, on_first_by_distance
from attncost.view.prices.pieces import from_the_start, looks_ahead
from attncost.view.prices.swapping import (
    Inputs,
    Said,
    check_repeatable,
    choice_of,
    said,
    said_with,
)
from attncost.view.seen import Seen
from attncost.view.statistics.results import Statistics
from attncost.view.statistics.summaries import MASS, check_mass

Progress: TypeAlias = Callable[[int, int], None]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class LayerPrice:
    """What a narrower pattern would cost one layer, and do to its model.

    Attributes:
        name: The layer.
        pattern: A window, or one beside the first tokens if those are why mass is far away; None if
            nothing cheaper holds the mass of all heads together, or distance means nothing.
        width: Keys of the narrowest window alone, cheaper or not; None if distance means nothing.
        share: FLOPs that the best kernel executes for it within what the layer reads now, over
            those for what it reads now, at these sizes; projections are not among them.
        line: Python that swaps it in, with `import attncost as ac`; None if that cannot be done or
            compared, `sentence` says why.
        damage: How far the model's last hidden states move with that line, or its logits if it
            returns none, relative to their size, over all tokens that are no padding.
        loss: How much the mean loss rises, in nats; None if the inputs hold no labels.
        sentence: All that in words.
    """

    _repr_html_ = as_html

    name: str
    pattern: Pattern | None = None
    width: int | None = None
    share: float | None = None
    line: str | None = None
    damage: float | None = None
    loss: float | None = None
    sentence: str


def layer_prices(
    model: Model,
    inputs: Inputs,
    layers: Mapping[str, tuple[Seen, Statistics]],
    *,
    mass: float = MASS,
    progress: Progress | None = None,
) -> dict[str, LayerPrice]:
    """Return what a window would cost each layer, the line that swaps it in, and its damage.

    The window is the narrowest that holds a share of what the heads seen read together, in all
    sequences. The model runs in evaluation and without gradients, and is left as it was.

    >>> with ac.capture(model, values=True) as captured:  # doctest: +SKIP
    ...     model(**inputs)
    >>> name = "model.layers.9.self_attn"
    >>> seen = captured.last(name)  # doctest: +SKIP
    >>> found = ac.statistics(seen.q, seen.k, pattern=seen.pattern, **seen.wishes)  # doctest: +SKIP
    >>> ac.layer_prices(model, inputs, {name: (seen, found)})[name].line  # doctest: +SKIP
    'ac.hf.swap(model, ac.Window(128), layers=[9])'

    Args:
        model: A model of transformers; for another one there are no lines.
        inputs: What it is called with, on its device.
        layers: A call of each layer on these inputs, by the layer's name in the model, and its
            statistics.
        mass: The share of mass that the window holds.
        progress: Is told how many layers are done, and of how many; nobody if left out.

    Returns:
        One for each layer by its name; see `LayerPrice`.

    Raises:
        ShapeError: If there is no such share, the inputs have no names, or statistics are of
            another call.
        UnknownName: If the model has no such layer.
        UnsupportedOption: If the inputs hold a cache.
    """
    check_mass(mass)
    _check_given(model, inputs, layers)
    check_repeatable(inputs)
    found, before = {}, cache(partial(said, model, inputs))
    with undisturbed(model):
        for done, (name, (seen, statistics)) in enumerate(layers.items(), start=1):
            price, offer = _untried(name, seen, statistics, mass)
            if offer is not None:
                price = _tried(price, offer, model, inputs, before)
            found[name] = price
            if progress is not None:
                progress(done, len(layers))
    return found


def _check_given(model: object, inputs: object, layers: object) -> None:
    if not isinstance(model, nn.Module):
        raise ShapeError(f"model must be a torch.nn.Module, got a {type(model).__name__}.")
    if not isinstance(inputs, Mapping):
        raise ShapeError(
            'inputs must be named, as in {"input_ids": tokens}, since the model is called with '
            f"**inputs, got a {type(inputs).__name__}."
        )
    if not isinstance(layers, Mapping):
        raise ShapeError(
            "layers must be a mapping such as {name: (seen, statistics)}, got a "
            f"{type(layers).__name__}."
        )
    # Modules that are shared have several names.
    known = {name for name, _ in model.named_modules(remove_duplicate=False)}
    for name, given in layers.items():
        if name not in known:
            watched = chosen(model, None)
            raise UnknownName("attention layer", name, (*watched.names, *watched.others))
        if not isinstance(given, tuple) or len(given) != 2:
            raise ShapeError(
                f"{name!r} must have a pair of a call and its statistics, got a "
                f"{type(given).__name__}."
            )
        check_belongs(*given)


def _untried(
    name: str, seen: Seen, found: Statistics, mass: float
) -> tuple[LayerPrice, Offer | None]:
    """Return what is known before the model runs, and what is to be tried on it."""
    if seen.cross:
        return LayerPrice(name=name, sentence=words.CROSS), None
    near = _mean(found.by_distance, _weights(found))
    if not near.any():
        return LayerPrice(name=name, sentence=words.NOTHING), None
    offered, heads = _offers(seen, found, near, mass), len(seen.heads)
    of_heads = "its head" if heads == 1 else f"its {heads} heads"
    subject = f"{words.percent(mass)} of the mass of {of_heads}"
    (n, m), best = (seen.q.shape[2], seen.k.shape[2]), offered.best
    price = LayerPrice(name=name, width=offered.window.width, sentence="")
    if best is None:
        return replace(price, sentence=words.dear(offered.window, subject, n, m)), None
    sentence = words.priced(offered, subject, m)
    if not is_faster(seen, best.pattern):
        sentence += words.slow(n)
    return replace(price, pattern=best.pattern, share=best.share, sentence=sentence), best


def _tried(
    price: LayerPrice, offer: Offer, model: Model, inputs: Inputs, before: Callable[[], Said]
) -> LayerPrice:
    """Let a model run with what is offered, and once without."""
    try:
        choice = choice_of(model, price.name)
        was, now = before(), said_with(model, inputs, offer.pattern, choice)
    except AttnCostError as error:
        return replace(price, sentence=f"{price.sentence}, but cannot be tried: {error}")
    damage = relative_change(was.rows, now.rows)
    loss = None if was.loss is None or now.loss is None else now.loss - was.loss
    moves = words.moving(f"the {was.what} of the model", damage)
    return replace(
        price,
        line=f"ac.hf.swap(model, {offer.spelled}, layers={choice!r})",
        damage=damage,
        loss=loss,
        sentence=f"{price.sentence}{moves}{words.losing(loss) if moves else ''}.",
    )


def _offers(seen: Seen, found: Statistics, near: Float[Tensor, "l"], mass: float) -> Offers:
    weights, tokens = _weights(found), found.gauges.first if from_the_start(seen) else 0
    on_first = (found.on_first * found.counted[:, None]).sum(2, keepdim=True)
    counts = found.counted.sum(1).clamp(min=1)[:, None, None]
    spread = Spread(
        mass=near,
        both=looks_ahead(seen),
        tokens=tokens,
        first=float(_mean(on_first / counts, weights)),
        on_first=partial(_on_first, seen, found, tokens=tokens, distances=len(near)),
    )
    return offers(spread, mass, share_of(seen))


def _on_first(seen: Seen, found: Statistics, *, tokens: int, distances: int) -> Float[Tensor, "l"]:
    each = on_first_by_distance(seen, found.counted, tokens=tokens, distances=distances)
    return _mean(each, _weights(found))


def _weights(found: Statistics) -> Float[Tensor, "b"]:
    """Return the share of each sequence in all queries that count."""
    counts = found.counted.sum(1).double()
    return counts / counts.sum().clamp(min=1)


def _mean(each: Float[Tensor, "b h l"], weights: Float[Tensor, "b"]) -> Float[Tensor, "l"]:
    """Return the mean over heads and, weighted, over sequences."""
    return torch.einsum("bhl,b->l", each.double(), weights) / each.shape[1]
