"""What matters most of a model with cheaper attention, a sentence each, with its numbers."""

from collections.abc import Iterator
from dataclasses import asdict
from math import exp

from attncost.core.units import show
from attncost.report.document import Finding
from attncost.report.quality.model_words import between, layer_names, short_names
from attncost.train.quality.models.rank_correlation import (
    alone_swapped,
    mass_alone,
    mass_and_loss,
    mass_and_moves,
)
from attncost.train.quality.models.results import Compared, Swapped
from attncost.train.quality.tasks.pareto import front


def findings(found: Compared, command: str) -> tuple[Finding, ...]:
    """Return what matters, first what is cheaper and loses least."""
    return (
        *_best(found, command),
        *_scale(found, command),
        *_layer(found, command),
        *_related(found, command),
    )


def _best(found: Compared, command: str) -> Iterator[Finding]:
    """Tell of what is cheaper and not beaten in both quality and cost."""
    short = short_names([one.attention for one in found.swapped])
    ready = [one for one in found.swapped if not one.untrained] or found.swapped
    cheaper = {one.attention: one for one in ready if one.attention_share < 1}
    if not cheaper:
        fewer = any(one.pairs_share is not None and one.pairs_share < 1 for one in found.swapped)
        reason = ": a dense mask is faster than to read fewer pairs" if fewer else ""
        yield Finding(
            key="cheaper",
            text=(
                f"At {found.longest:,} tokens nothing that was tried executes less than the "
                f"model's own attention{reason}."
            ),
            values={"longest": found.longest},
            command=command,
        )
        return
    kept = front({name: (-one.loss, one.attention_share) for name, one in cheaper.items()})
    ordered = sorted((cheaper[name] for name in kept), key=lambda one: one.loss)
    rest = [one for one in found.swapped if one not in ready]
    closest, cheapest = ordered[0], ordered[-1]
    beaten = {
        "closest": any(one.loss < closest.loss for one in rest),
        "cheapest": any(one.attention_share < cheapest.attention_share for one in rest),
    }
    for key, one in {"closest": closest, "cheapest": cheapest}.items():
        if key == "cheapest" and len(ordered) == 1:
            return
        of = " that needs no training" if beaten[key] else ""
        yield Finding(
            key=key,
            text=(
                f"{key.capitalize()}{of}: {short[one.attention]}, {_quality(one)}, "
                f"{show(one.attention_share, 'times')} the attention."
            ),
            values={
                "attention": one.attention,
                "loss": one.loss,
                "attention_share": one.attention_share,
                "model_share": one.model_share,
            },
            command=command,
        )


def _quality(one: Swapped) -> str:
    if one.vectors is not None:
        return f"cosine {one.vectors.cosine.value:.3g}{between(one.vectors.cosine)}"
    assert one.tokens is not None, "one of both is compared"
    return f"{one.tokens.added.value:+.3g} nats{between(one.tokens.added)}"


def _scale(found: Compared, command: str) -> Iterator[Finding]:
    """Tell what a figure has to be compared with."""
    if found.apart is not None:
        yield Finding(
            key="apart",
            text=f"Beside that: two different texts have a cosine of {found.apart:.3g}.",
            values={"apart": found.apart},
            command=command,
        )
    tokens = found.swapped[0].tokens
    if tokens is not None:
        yield Finding(
            key="own",
            text=(
                f"Beside that: the model as it is takes {tokens.was:.3g} nats a token, a "
                f"perplexity of {exp(tokens.was):.4g}."
            ),
            values={"nats": tokens.was},
            command=command,
        )


def _layer(found: Compared, command: str) -> Iterator[Finding]:
    """Tell which layer hurts most by itself, and how much of its mass it keeps."""
    if len(found.alone) < 2:
        return
    worst = max(found.alone, key=lambda one: one.loss)
    if worst.loss <= 0:
        return
    kept, names = mass_alone(found), layer_names(found)
    one = alone_swapped(found)
    short = short_names([one.attention for one in found.swapped])[found.alone_of]
    loss = f"1 - cosine {worst.loss:.2g}" if one.vectors is not None else f"{worst.loss:+.2g} nats"
    label = names[worst.name]
    layer = f"Layer {label}" if label.isdecimal() else label
    share = kept.get(worst.name)
    reason = "" if share is None else f", {show(share, 'percent')} of its mass kept"
    yield Finding(
        key="layer",
        text=f"{layer} alone loses most by {short}: {loss}{reason}.",
        values={"attention": found.alone_of, **asdict(worst), "mass": share},
        command=command,
    )


def _related(found: Compared, command: str) -> Iterator[Finding]:
    """Tell whether mass that is left out explains what changes."""
    moves, loss = mass_and_moves(found), mass_and_loss(found)
    if moves is None:
        return
    text = (
        f"Mass left out: rank correlation {moves[0]:.2f} with how far a layer moves, of {moves[1]} "
        "layers under patterns"
    )
    if loss is not None:
        text += f"; {loss[0]:.2f} with the loss, of {loss[1]} layers"
    yield Finding(
        key="related",
        text=f"{text}.",
        values={
            "moves": moves[0],
            "points": moves[1],
            "loss": None if loss is None else loss[0],
            "layers": len(found.alone),
        },
        command=command,
    )
