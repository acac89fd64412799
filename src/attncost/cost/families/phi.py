"""Phi 1 to 4: decoders of small models (arXiv:2309.05463, arXiv:2404.14219, arXiv:2412.08905).

Up to Phi 2, attention and a feed-forward without a gate stand side by side behind one norm. Since
Phi 3 it is Llama's layer, with one matrix for queries, keys and values, and perhaps a window.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder
from attncost.cost.families.interface import Family
from attncost.cost.families.said import Said
from attncost.cost.model.grouped import ALL
from attncost.cost.model.layer import Layer, Layers
from attncost.cost.settings import Settings
from attncost.patterns.causal import Causal
from attncost.patterns.window import Window


@final
class Phi(Family):
    """Decoders with rotary positions on a part of each head."""

    kinds: ClassVar[Mapping[str, Settings]] = {"phi": {}, "phi3": {}}

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        if said.saved_as("Classification"):
            raise said.refused("ends in classes")
        times = said.size("num_hidden_layers")
        if said.kind == "phi3":
            return decoder(said, (Layers(_third(said), times),))
        found = decoder(said, (Layers(_first(said), times),))
        return replace(found, norms=2 * found.d_model, head=said.logits(biased=True))


def _first(said: Said) -> Layer:
    # Two norms of one head, each with a scale and a shift.
    norm = 4 * said.head_dim if said.flag("qk_layernorm") else 0
    return Layer(
        d_model=said.size("hidden_size"),
        mixers=(said.grouped(Causal(), biases=ALL, norm=norm),),
        feed=said.dense(gated=False, biased=True),
        norms=1,
        norm_numbers=2,
    )


def _third(said: Said) -> Layer:
    width = said.optional("sliding_window")
    attention = said.grouped(Causal() if width is None else Window(width))
    return Layer(
        d_model=said.size("hidden_size"),
        mixers=(replace(attention, fused=True),),
        feed=said.dense(gated=True),
        norms=2,
    )
