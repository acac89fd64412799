"""OLMoE and MiniMax-M2: experts in every layer, and norms over all heads at once.

OLMoE: Muennighoff et al. 2024, arXiv:2409.02060. MiniMax-M2: MiniMax 2025, MiniMaxAI/MiniMax-M2.
"""

from collections.abc import Mapping
from typing import ClassVar, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder, stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.routed import experts, layers
from attncost.cost.families.said import Said
from attncost.cost.model.grouped import ALL
from attncost.cost.settings import Settings
from attncost.patterns.causal import Causal


@final
class Olmoe(Family):
    """Decoders whose queries of all heads share a norm, and so do their keys."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "olmoe": {"num_experts": 64, "num_experts_per_tok": 8},
        "minimax_m2": {
            "num_key_value_heads": 8,
            "head_dim": 128,
            "num_local_experts": 256,
            "num_experts_per_tok": 8,
        },
    }

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        if said.get("sliding_window") is not None:
            raise said.refused("has a sliding_window")
        times, heads = said.size("num_hidden_layers"), said.size("num_attention_heads")
        shared = said.optional("num_key_value_heads") or heads
        biased = said.kind == "olmoe" and said.flag("attention_bias")
        mixer = said.grouped(
            Causal(),
            biases=ALL if biased else frozenset(),
            norm=(heads + shared) * said.head_dim,
        )
        names = ("num_local_experts", "num_experts")
        count = names if said.kind == "olmoe" else names[::-1]
        feed = experts(said, count=count, width="intermediate_size")
        found = layers([mixer] * times, [feed] * times, d_model=mixer.d_model)
        return decoder(said, stacked(found))
