"""Qwen's decoders with experts: arXiv:2407.10671 and, for Qwen 3, arXiv:2505.09388.

Those of Qwen 2 have a shared expert with a gate, those of Qwen 3 norms of heads. Some layers may
have a feed-forward without experts.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder, stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.routed import experts, layers, wide
from attncost.cost.families.said import Said
from attncost.cost.model.experts import Experts
from attncost.cost.model.feed import Feed
from attncost.cost.model.grouped import ALL, QKV, Grouped, Projection
from attncost.cost.settings import Settings
from attncost.patterns.causal import Causal
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

_SLIDING: Final = "sliding_attention"
_UNSAID: Final[Mapping[str, Settings]] = {
    "qwen2_moe": {
        "num_key_value_heads": 16,
        "sliding_window": 4096,
        "max_window_layers": 28,
        "decoder_sparse_step": 1,
        "moe_intermediate_size": 1408,
        "shared_expert_intermediate_size": 5632,
        "num_experts_per_tok": 4,
        "num_experts": 60,
        "qkv_bias": True,
    },
    "qwen3_moe": {
        "num_key_value_heads": 4,
        "sliding_window": 4096,
        "decoder_sparse_step": 1,
        "moe_intermediate_size": 768,
        "num_experts_per_tok": 8,
        "num_experts": 128,
    },
}


@final
class QwenMoe(Family):
    """Decoders with experts in every layer, or every few."""

    kinds: ClassVar[Mapping[str, Settings]] = _UNSAID

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        mixers = [_mixer(said, pattern) for pattern in _patterns(said)]
        return decoder(
            said, stacked(layers(mixers, _feeds(said), d_model=said.size("hidden_size")))
        )


def _mixer(said: Said, pattern: Pattern) -> Grouped:
    if said.kind == "qwen2_moe":
        return said.grouped(pattern, biases=QKV if said.flag("qkv_bias") else frozenset())
    biases = ALL if said.flag("attention_bias") else frozenset[Projection]()
    return said.grouped(pattern, biases=biases, norm=2 * said.head_dim)


def _feeds(said: Said) -> list[Feed]:
    """Return the feed-forward of each layer."""
    without, step = said.listed("mlp_only_layers", int) or [], said.size("decoder_sparse_step")
    dense, routed = wide(said, said.size("intermediate_size")), _experts(said)
    return [
        dense if i in without or (i + 1) % step else routed
        for i in range(said.size("num_hidden_layers"))
    ]


def _experts(said: Said) -> Experts:
    if said.kind == "qwen3_moe":
        return experts(said, count=("num_local_experts", "num_experts"))
    shared = wide(said, said.size("shared_expert_intermediate_size"))
    return replace(experts(said, count=("num_experts",), shared=shared), shared_gate=True)


def _patterns(said: Said) -> list[Pattern]:
    """Return what each layer reads; windows only if asked for."""
    every, width = said.size("num_hidden_layers"), said.optional("sliding_window")
    if width is None or not said.flag("use_sliding_window"):
        return [Causal()] * every
    if said.kind == "qwen3_moe":
        return [Window(width)] * every
    types = said.layer_types(("full_attention", _SLIDING))
    if types is None:
        below = said.size("max_window_layers")
        types = ["" if i % 2 or i >= below else _SLIDING for i in range(every)]
    return [Window(width) if one == _SLIDING else Causal() for one in types]
