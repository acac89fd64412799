"""DeepSeek V2, V3 and V3.2, Kimi K2 and GLM-4.7-Flash: latent attention and experts.

arXiv:2405.04434, arXiv:2412.19437; V3.2 with an indexer, arXiv:2512.02556; GLM arXiv:2508.06471.
The biases that balance the load of V3's experts are moved by a rule and not learned, so they are no
parameters.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder, stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.mla import latent, notes
from attncost.cost.families.routed import dense_or_routed, layers
from attncost.cost.families.said import Said
from attncost.cost.model.indexed import Indexed
from attncost.cost.settings import Settings

_V3: Final[Settings] = {
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 2048,
    "first_k_dense_replace": 3,
}


@final
class DeepSeek(Family):
    """Decoders with latent attention, of which the first layers have no experts."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "deepseek_v2": {
            "kv_lora_rank": 512,
            "q_lora_rank": 1536,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "v_head_dim": 128,
            "n_routed_experts": 64,
            "n_shared_experts": 2,
            "moe_intermediate_size": 1407,
            "first_k_dense_replace": 0,
        },
        "deepseek_v3": _V3,
        "kimi_k2": _V3,
        "glm4_moe_lite": {
            **_V3,
            "q_lora_rank": 768,
            "qk_nope_head_dim": 192,
            "v_head_dim": 256,
            "n_routed_experts": 64,
            "num_experts_per_tok": 4,
            "moe_intermediate_size": 1536,
            "first_k_dense_replace": 1,
        },
        "deepseek_v32": {**_V3, "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 64},
    }

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        mixer = _indexed(said) if said.kind == "deepseek_v32" else latent(said)
        biased = said.kind == "deepseek_v2" and said.flag("mlp_bias")
        feeds = dense_or_routed(said, biased=biased)
        found = layers([mixer] * len(feeds), feeds, d_model=said.size("hidden_size"))
        return decoder(said, stacked(found), notes=notes(said))


def _indexed(said: Said) -> Indexed:
    said.size("q_lora_rank")  # its queries are made of the same vector, so there must be one
    return Indexed(
        latent=latent(said),
        heads=said.size("index_n_heads"),
        head_dim=said.size("index_head_dim"),
        top=said.size("index_topk"),
    )
