"""Nemotron-H and Nemotron 3: layers of a state space, attention, feed-forward or experts alone.

arXiv:2504.03624. Each layer has one norm and one of the four. Feed-forwards have no gate; attention
has no positions.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder, more_tokens, stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.said import Said
from attncost.cost.model.dense import Dense
from attncost.cost.model.experts import Experts
from attncost.cost.model.layer import Layer
from attncost.cost.model.mamba2 import Mamba2
from attncost.cost.settings import Settings
from attncost.patterns.causal import Causal

# As a pattern has them, and as lists of old and of new files do.
_KINDS: Final = {
    "M": ("mamba", "linear_attention"),
    "*": ("attention", "full_attention"),
    "-": ("mlp",),
    "E": ("moe",),
}
_RENAMED: Final = {
    "mamba_n_groups": "n_groups",
    "mamba_d_conv": "conv_kernel",
    "mamba_conv_bias": "use_conv_bias",
    "mamba_chunk_size": "chunk_size",
    "num_local_experts": "n_routed_experts",
}


@final
class NemotronH(Family):
    """Decoders of which few layers have attention."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "nemotron_h": {
            "num_key_value_heads": 8,
            "head_dim": 128,
            "intermediate_size": 21504,
            "ssm_state_size": 128,
            "mamba_num_heads": 128,
            "mamba_head_dim": 64,
            "n_groups": 8,
            "conv_kernel": 4,
            "use_conv_bias": True,
            "chunk_size": 128,
            "n_routed_experts": 8,
            "moe_intermediate_size": 7688,
            "moe_shared_expert_intermediate_size": 7688,
            "num_experts_per_tok": 2,
        }
    }

    def read(self, said: Said) -> Configuration:
        """Read a decoder; experts on a narrower vector of each token are refused."""
        renamed = {ours: said.get(key) for key, ours in _RENAMED.items() if key in said.settings}
        said = Said({**said.settings, **renamed}, said.name, said.source)
        if said.get("moe_latent_size") is not None:
            raise said.refused("has experts on a narrower vector (moe_latent_size)")
        pattern = _pattern(said)
        parts = {kind: _part(said, kind) for kind in set(pattern)}
        return decoder(said, stacked(parts[kind] for kind in pattern), notes=more_tokens(said))


def _pattern(said: Said) -> str:
    """Return the kind of each layer, as one letter."""
    listed = said.listed("layers_block_type", str) or said.listed("layer_types", str)
    letters = {name: letter for letter, names in _KINDS.items() for name in names}
    found = listed or list(str(said.get("hybrid_override_pattern") or "ME*-"))
    layers = said.optional("num_hidden_layers")
    if layers not in (None, len(found)):
        raise said.refused(f"has {layers} num_hidden_layers and {len(found)} kinds of them")
    known = letters if listed else dict(zip(_KINDS, _KINDS, strict=True))
    for one in found:
        if one not in known:
            raise said.refused(f"has a layer of type {one!r}")
    return "".join(known[one] for one in found)


def _part(said: Said, kind: str) -> Layer:
    d = said.size("hidden_size")
    if kind in "M*":
        mixer = _state(said) if kind == "M" else said.grouped(Causal())
        return Layer(d_model=d, mixers=(mixer,), norms=1)
    feed = _dense(said, "intermediate_size") if kind == "-" else _experts(said)
    return Layer(d_model=d, mixers=(), feed=feed, norms=1)


def _state(said: Said) -> Mamba2:
    return Mamba2(
        d_model=said.size("hidden_size"),
        heads=said.size("mamba_num_heads"),
        head_dim=said.size("mamba_head_dim"),
        groups=said.size("n_groups"),
        state_dim=said.size("ssm_state_size"),
        taps=said.size("conv_kernel"),
        chunk=said.size("chunk_size"),
        biased=said.flag("use_bias"),
        convolution_biased=said.flag("use_conv_bias"),
    )


def _dense(said: Said, width: str) -> Dense:
    d = said.size("hidden_size")
    return Dense(d_model=d, hidden=said.size(width), biased=said.flag("mlp_bias"))


def _experts(said: Said) -> Experts:
    return Experts(
        expert=Dense(d_model=said.size("hidden_size"), hidden=said.size("moe_intermediate_size")),
        experts=said.size("n_routed_experts"),
        active=said.size("num_experts_per_tok"),
        shared=_dense(said, "moe_shared_expert_intermediate_size"),
    )
