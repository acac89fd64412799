"""From what is set to a model, and back: the structures that the calculator's sizes express.

    expressed(built(state)) = state        refused: whatever is not built again as it was

A model is expressed if building it from what was read of it gives the same formulas. So nothing is
passed over: experts, layers of several kinds and states are refused by name.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from attncost.core.counts import Count
from attncost.core.errors import UnsupportedOption
from attncost.cost.configuration import Configuration
from attncost.cost.model.dense import Dense
from attncost.cost.model.ends import Embedding, Head
from attncost.cost.model.feed import Feed
from attncost.cost.model.grouped import ALL, QKV, Grouped, Projection
from attncost.cost.model.layer import Layer, Layers
from attncost.cost.model.mixer import Mixer
from attncost.patterns.interface import Pattern
from attncost.report.calculator.attentions import attentions
from attncost.report.calculator.settings import SIZES

State: TypeAlias = dict[str, "int | str"]

NORMS: Final = {"none": 0, "rms": 1, "layer": 2}
BIASES: Final[Mapping[str, frozenset[Projection]]] = {
    "none": frozenset(),
    "qkv": QKV,
    "all": ALL,
}


def built(
    sizes: Mapping[str, Count], choices: Mapping[str, str], attention: Pattern
) -> Configuration:
    """Return the model of what is set.

    Args:
        sizes: Numbers or symbols, by name.
        choices: By name.
        attention: What all its layers read.
    """
    d, numbers, longest = sizes["d_model"], NORMS[choices["norm"]], sizes["longest"]
    layer = Layer(
        d_model=d,
        mixers=(attended(sizes, choices, attention),),
        feed=fed(sizes, choices),
        norms=sizes["norms"],
        norm_numbers=numbers,
    )
    return Configuration(
        name="this model",
        d_model=d,
        stack=(Layers(layer, sizes["layers"]),),
        embedding=Embedding(
            vocabulary=sizes["vocabulary"] if choices["embedding"] == "table" else 0,
            positions=sizes["positions"],
            token_types=sizes["token_types"],
            others=sizes["embedding_norms"] * numbers * d,
        ),
        head=ended(sizes, choices),
        norms=numbers * d if choices["last_norm"] == "on" else 0,
        longest=longest if isinstance(longest, int) and longest else None,
    )


def attended(sizes: Mapping[str, Count], choices: Mapping[str, str], attention: Pattern) -> Grouped:
    """Return the attention of a layer."""
    return Grouped(
        d_model=sizes["d_model"],
        heads=sizes["heads"],
        kv_heads=sizes["kv_heads"],
        head_dim=sizes["head_dim"],
        pattern=attention,
        biases=BIASES[choices["biases"]],
        norm=2 * sizes["head_dim"] if choices["head_norm"] == "on" else 0,
    )


def fed(sizes: Mapping[str, Count], choices: Mapping[str, str]) -> Dense | None:
    """Return the feed-forward of a layer, if there is one."""
    if choices["feed"] == "none":
        return None
    return Dense(
        d_model=sizes["d_model"],
        hidden=sizes["hidden"],
        gated=choices["feed"] == "gated",
        biased=choices["feed_biases"] == "on",
    )


def ended(sizes: Mapping[str, Count], choices: Mapping[str, str]) -> Head | None:
    """Return what follows the last layer, if anything does."""
    width, d, kind = sizes["vocabulary"], sizes["d_model"], choices["head"]
    if kind in ("logits", "tied"):
        return Head(kind="logits", width=width, tied=kind == "tied")
    if kind == "masked":
        return Head(kind="logits", width=width, transform=True, tied=True, others=3 * d + width)
    return Head(kind="pooler", width=d, others=d) if kind == "pooler" else None


def expressed(model: Configuration) -> State:
    """Return what is to be set for a model.

    Raises:
        UnsupportedOption: If the calculator's sizes do not express it, with the reason.
    """
    if len(model.stack) != 1:
        raise _refused(model, f"it has layers of {len(model.stack)} kinds")
    (some,) = model.stack
    mixer = some.layer.mixers[0] if len(some.layer.mixers) == 1 else None
    if not isinstance(mixer, Grouped):
        named = " and ".join(type(one).__name__ for one in some.layer.mixers)
        raise _refused(model, f"its layers mix tokens by {named}")
    feed = some.layer.feed
    if feed is not None and not isinstance(feed, Dense):
        raise _refused(model, f"its feed-forward is {type(feed).__name__}")
    state = _read(model, some, mixer) | _choices(model, mixer, some.layer.feed)
    for size in SIZES:
        if size.name in state and not size.low <= int(state[size.name]) <= size.high:
            raise _refused(
                model,
                f"{size.name} must lie between {size.low:,} and {size.high:,}, got "
                f"{int(state[size.name]):,}",
            )
    attention = _attention(model, mixer.pattern)
    again = built(_numbers(state), _words(state), mixer.pattern)
    if _bare(again) != _bare(model):
        raise _refused(model, "it learns numbers, or has an end, that no size of the page says")
    return state | attention


def _read(model: Configuration, some: Layers, mixer: Grouped) -> State:
    numbers = some.layer.norm_numbers
    own = model.embedding.others
    return {
        "layers": some.times,
        "d_model": model.d_model,
        "heads": mixer.heads,
        "kv_heads": mixer.kv_heads,
        "head_dim": mixer.head_dim,
        "norms": some.layer.norms,
        "embedding_norms": own // (numbers * model.d_model) if numbers else 0,
        "positions": model.embedding.positions,
        "token_types": model.embedding.token_types,
        "longest": model.longest or 0,
    } | _optional(model, some.layer.feed)


def _optional(model: Configuration, feed: Feed | None) -> State:
    found: State = {"hidden": feed.hidden} if isinstance(feed, Dense) else {}
    head = model.head
    width = model.embedding.vocabulary or (head.width if head and head.kind == "logits" else 0)
    return found | ({"vocabulary": width} if width else {})


def _choices(model: Configuration, mixer: Grouped, feed: Feed | None) -> State:
    layer = model.stack[0].layer
    dense = feed if isinstance(feed, Dense) else None
    kinds = {numbers: name for name, numbers in NORMS.items()}
    sets = {biases: name for name, biases in BIASES.items()}
    return {
        "feed": "none" if dense is None else "gated" if dense.gated else "plain",
        "feed_biases": "on" if dense and dense.biased else "off",
        "norm": kinds.get(layer.norm_numbers, "none"),
        "biases": sets.get(mixer.biases, "none"),
        "head_norm": "on" if mixer.norm else "off",
        "last_norm": "on" if model.norms else "off",
        "embedding": "table" if model.embedding.vocabulary else "none",
        "head": _head(model.head),
    }


def _head(head: Head | None) -> str:
    if head is None:
        return "none"
    if head.kind != "logits":
        return "pooler"
    return "masked" if head.transform else "tied" if head.tied else "logits"


def _attention(model: Configuration, pattern: Pattern) -> State:
    for one in attentions():
        sizes = one.dialled(pattern) if issubclass(one.kind, Pattern) else None
        if sizes is not None:
            return {"attention": one.name, **sizes}
    raise _refused(model, f"it reads {pattern}, which has no formula in symbols")


def _numbers(state: State) -> dict[str, Count]:
    """Return all sizes, those that are not said at their least."""
    return {size.name: int(state.get(size.name, size.low)) for size in SIZES}


def _words(state: State) -> dict[str, str]:
    return {name: str(value) for name, value in state.items()}


def _bare(model: Configuration) -> Configuration:
    """Return a model without what no formula asks for."""
    stack = tuple(
        Layers(
            replace(some.layer, mixers=tuple(_separate(one) for one in some.layer.mixers)),
            some.times,
        )
        for some in model.stack
    )
    return replace(model, name="", source="", notes=(), stack=stack)


def _separate(mixer: Mixer) -> Mixer:
    return replace(mixer, fused=False) if isinstance(mixer, Grouped) else mixer


def _refused(model: Configuration, why: str) -> UnsupportedOption:
    return UnsupportedOption(
        f"{model.name} is no model for the calculator's page, {why}: use attncost plan or "
        "attncost report instead."
    )
