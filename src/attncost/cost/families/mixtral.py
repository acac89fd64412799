"""Mixtral and Granite with experts: plain decoders with experts in every layer.

Mixtral: Jiang et al. 2024, arXiv:2401.04088. Granite 3: IBM 2024, ibm-granite/granite-3.0-3b-a800m.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder, stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.routed import experts, layers
from attncost.cost.families.said import Said
from attncost.cost.model.grouped import ALL
from attncost.cost.settings import Settings
from attncost.patterns.causal import Causal
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

_PLAIN: Final = ("num_local_experts",)


@final
class Mixtral(Family):
    """Decoders of which every layer has experts, those of Mixtral sometimes windows."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "mixtral": {
            "num_key_value_heads": 8,
            "num_local_experts": 8,
            "num_experts_per_tok": 2,
        },
        "granitemoe": {"num_local_experts": 8, "num_experts_per_tok": 2},
    }

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        biased = said.kind == "granitemoe" and said.flag("attention_bias")
        mixer = said.grouped(_pattern(said), biases=ALL if biased else frozenset())
        count = ("num_experts", "num_local_experts") if said.kind == "mixtral" else _PLAIN
        feed = experts(said, count=count, width="intermediate_size")
        times = said.size("num_hidden_layers")
        found = layers([mixer] * times, [feed] * times, d_model=mixer.d_model)
        return decoder(said, stacked(found))


def _pattern(said: Said) -> Pattern:
    width = said.optional("sliding_window")
    if width is None:
        return Causal()
    if said.kind == "granitemoe":
        raise said.refused("has a sliding_window")
    return Window(width)
