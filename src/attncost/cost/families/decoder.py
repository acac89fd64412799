"""What most decoders share: a table of tokens, a stack, an RMS norm and logits."""

from collections.abc import Iterable
from typing import Final

from attncost.cost.configuration import Configuration
from attncost.cost.families.said import Said
from attncost.cost.model.ends import Embedding
from attncost.cost.model.layer import Layer, Layers

_MORE_TOKENS: Final = "The layers that predict further tokens are left out."


def more_tokens(said: Said) -> tuple[str, ...]:
    """Return the note on what predicts further tokens, if the settings have that."""
    return (_MORE_TOKENS,) if said.flag("num_nextn_predict_layers") else ()


def decoder(said: Said, stack: tuple[Layers, ...], *, notes: tuple[str, ...] = ()) -> Configuration:
    """Return a decoder with rotary positions.

    Args:
        said: Its settings.
        stack: Its layers.
        notes: What the formulas leave out.
    """
    return Configuration(
        name=said.name,
        d_model=said.size("hidden_size"),
        stack=stack,
        embedding=Embedding(vocabulary=said.size("vocab_size")),
        head=said.logits(),
        norms=said.size("hidden_size"),
        source=said.source,
        notes=notes,
    )


def stacked(layers: Iterable[Layer]) -> tuple[Layers, ...]:
    """Return layers by kind, the kinds in order of their first layer."""
    found: dict[Layer, int] = {}
    for layer in layers:
        found[layer] = found.get(layer, 0) + 1
    return tuple(Layers(layer, times) for layer, times in found.items())
