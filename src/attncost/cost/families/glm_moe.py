"""GLM-4.5 to 4.7 (Zeng et al. 2025, arXiv:2508.06471): plain attention with experts."""

from collections.abc import Mapping
from typing import ClassVar, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder, more_tokens, stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.routed import dense_or_routed, layers
from attncost.cost.families.said import Said
from attncost.cost.model.grouped import QKV
from attncost.cost.settings import Settings
from attncost.patterns.causal import Causal


@final
class GlmMoe(Family):
    """Decoders of which the first layers have no experts."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "glm4_moe": {
            "num_key_value_heads": 8,
            "n_routed_experts": 128,
            "n_shared_experts": 1,
            "num_experts_per_tok": 8,
            "moe_intermediate_size": 1408,
            "first_k_dense_replace": 1,
        }
    }

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        mixer = said.grouped(
            Causal(),
            biases=QKV if said.flag("attention_bias") else frozenset(),
            norm=2 * said.head_dim if said.flag("use_qk_norm") else 0,
        )
        feeds = dense_or_routed(said)
        found = layers([mixer] * len(feeds), feeds, d_model=mixer.d_model)
        return decoder(said, stacked(found), notes=more_tokens(said))
