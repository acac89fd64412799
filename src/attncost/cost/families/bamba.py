"""Bamba and Granite 4: Mamba-2, and attention in a few layers.

Every layer has a feed-forward; that of Granite may have experts beside a shared one. Sizes as in
the published models of IBM; the state space: arXiv:2405.21060.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, final

from attncost.core.errors import ShapeError
from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder, stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.routed import experts, layers, wide
from attncost.cost.families.said import Said
from attncost.cost.model.dense import Dense
from attncost.cost.model.feed import Feed
from attncost.cost.model.grouped import ALL, Projection
from attncost.cost.model.mamba2 import Mamba2
from attncost.cost.settings import Settings
from attncost.patterns.causal import Causal

_ATTENTION: Final = ("attention", "full_attention")
_STATE: Final = ("mamba", "linear_attention")
_UNSAID: Final[Settings] = {
    "mamba_n_heads": 128,
    "mamba_d_head": "auto",
    "mamba_n_groups": 1,
    "mamba_d_state": 256,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_chunk_size": 256,
    "mamba_conv_bias": True,
}


@final
class Bamba(Family):
    """Decoders of which most layers keep a state in place of keys and values."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "bamba": {**_UNSAID, "num_key_value_heads": 8},
        "granitemoehybrid": {
            **_UNSAID,
            "shared_intermediate_size": 1024,
            "num_local_experts": 8,
            "num_experts_per_tok": 2,
        },
    }

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        biases = ALL if said.flag("attention_bias") else frozenset[Projection]()
        state, attention = _state(said), said.grouped(Causal(), biases=biases)
        mixers = [attention if one in _ATTENTION else state for one in _types(said)]
        feed = _routed(said) if said.kind == "granitemoehybrid" else _dense(said)
        return decoder(said, stacked(layers(mixers, [feed] * len(mixers), d_model=state.d_model)))


def _types(said: Said) -> list[str]:
    """Return the kind of each layer; by default all keep a state."""
    if said.kind == "granitemoehybrid":
        old = said.get("layers_block_type")
        settings = said.settings if old is None else {**said.settings, "layer_types": old}
        found = Said(settings, said.name, said.source).layer_types((*_ATTENTION, *_STATE))
        return found or [_STATE[0]] * said.size("num_hidden_layers")
    attention = said.get("attn_layer_indices") or []
    return [
        _ATTENTION[0] if i in attention else _STATE[0]
        for i in range(said.size("num_hidden_layers"))
    ]


def _state(said: Said) -> Mamba2:
    d, heads = said.size("hidden_size"), said.size("mamba_n_heads")
    inner = said.size("mamba_expand") * d
    wide = inner // heads if said.get("mamba_d_head") == "auto" else said.size("mamba_d_head")
    if heads * wide != inner:
        raise ShapeError(
            f"mamba_n_heads * mamba_d_head of {said.name} must be mamba_expand * hidden_size, got "
            f"{heads} * {wide} for {inner}."
        )
    return Mamba2(
        d_model=d,
        heads=heads,
        head_dim=wide,
        groups=said.size("mamba_n_groups"),
        state_dim=said.size("mamba_d_state"),
        taps=said.size("mamba_d_conv"),
        chunk=said.size("mamba_chunk_size"),
        biased=said.flag("mamba_proj_bias"),
        convolution_biased=said.flag("mamba_conv_bias"),
    )


def _dense(said: Said) -> Dense:
    return wide(said, said.size("intermediate_size"), biased=said.flag("mlp_bias"))


def _routed(said: Said) -> Feed:
    shared = wide(said, said.size("shared_intermediate_size"))
    if said.get("num_local_experts") == 0:
        return shared
    count = ("num_local_experts",)
    return experts(said, count=count, width="intermediate_size", shared=shared)
