"""GPT-NeoX and Pythia: attention and feed-forward side by side (arXiv:2204.06745, 2304.01373)."""

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


@final
class Neox(Family):
    """Decoders with rotary positions, biases everywhere and no gate."""

    kinds: ClassVar[Mapping[str, Settings]] = {"gpt_neox": {"attention_bias": True}}

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        if said.saved_as("Classification", "QuestionAnswering"):
            raise said.refused("ends in classes")
        biases = ALL if said.flag("attention_bias") else frozenset()
        layer = Layer(
            d_model=said.size("hidden_size"),
            mixers=(replace(said.grouped(Causal(), biases=biases), fused=True),),
            feed=said.dense(gated=False, biased=True),
            norms=2,
            norm_numbers=2,
        )
        found = decoder(said, (Layers(layer, said.size("num_hidden_layers")),))
        return replace(found, norms=2 * found.d_model)
