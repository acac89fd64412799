"""Kimi Linear: three layers with a state to one with latent attention (arXiv:2510.26692).

No layer has positions: states know the order, and latent attention does without. The biases that
balance the load of experts are moved by a rule and not learned, so they are no parameters.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder, stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.mla import latent, notes
from attncost.cost.families.routed import dense_or_routed, layers
from attncost.cost.families.said import Said
from attncost.cost.model.kda import KimiDelta
from attncost.cost.model.mixer import Mixer
from attncost.cost.settings import Settings

# Names in published files, and those that transformers writes.
_WRITTEN: Final = {
    "num_experts": "num_local_experts",
    "num_experts_per_token": "num_experts_per_tok",
    "num_shared_experts": "n_shared_experts",
}
_NESTED: Final = {
    "head_dim": "linear_head_dim",
    "num_heads": "linear_num_heads",
    "short_conv_kernel_size": "linear_conv_kernel_dim",
}
_STATE, _FULL = "linear_attention", "full_attention"


@final
class KimiLinear(Family):
    """Decoders of KDA and latent attention, of which the first layers have no experts."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "kimi_linear": {
            "kv_lora_rank": 512,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "v_head_dim": 128,
            "num_local_experts": 256,
            "n_shared_experts": 1,
            "num_experts_per_tok": 8,
            "moe_intermediate_size": 1024,
            "first_k_dense_replace": 1,
            "linear_head_dim": 128,
            "linear_num_heads": 32,
            "linear_conv_kernel_dim": 4,
        }
    }

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        said = _one_spelling(said)
        found = layers(_mixers(said), dense_or_routed(said), d_model=said.size("hidden_size"))
        return decoder(said, stacked(found), notes=notes(said))


def _one_spelling(said: Said) -> Said:
    """Return the settings by the names that transformers writes."""
    settings, nested = dict(said.settings), said.get("linear_attn_config") or {}
    if not isinstance(nested, dict):
        raise said.refused(f"has a linear_attn_config {nested!r}")
    written = {ours: settings[key] for key, ours in _WRITTEN.items() if key in settings}
    inside = {ours: nested[key] for key, ours in _NESTED.items() if key in nested}
    # transformers never ties the head, whatever the settings say.
    settings |= written | inside | {"tie_word_embeddings": False}
    if settings.get("layer_types") is None and {"full_attn_layers", "kda_layers"} <= nested.keys():
        settings["layer_types"] = _numbered(said, nested)
    return Said(settings, said.name, said.source)


def _numbered(said: Said, nested: Mapping[str, Any]) -> list[str]:
    """Return the kind of each layer; their numbers begin with 1."""
    inside = Said(dict(nested), said.name, said.source)
    full, states = (inside.listed(key, int) or [] for key in ("full_attn_layers", "kda_layers"))
    every = said.size("num_hidden_layers")
    if sorted([*full, *states]) != list(range(1, every + 1)):
        raise said.refused(f"has full_attn_layers {full} and kda_layers {states} of {every} layers")
    return [_FULL if i in full else _STATE for i in range(1, every + 1)]


def _mixers(said: Said) -> list[Mixer]:
    """Return what mixes tokens in each layer."""
    every = said.size("num_hidden_layers")
    types = said.layer_types((_STATE, _FULL))
    if types is None:
        types = [_FULL if i and i % 4 == 0 else _STATE for i in range(every)]
    state = KimiDelta(
        d_model=said.size("hidden_size"),
        heads=said.size("linear_num_heads"),
        head_dim=said.size("linear_head_dim"),
        taps=said.size("linear_conv_kernel_dim"),
    )
    full = latent(said)
    return [full if one == _FULL else state for one in types]
