"""Qwen3-Next and Qwen 3.5: gated DeltaNet, and gated attention in every fourth layer.

The block of both: arXiv:2412.06464 and arXiv:2505.06708; sizes as in the published models. Feed-
forwards are dense or a mixture of experts with a shared one. Of a Qwen 3.5 that sees images, the
part that reads text.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final, final

from attncost.core.errors import ShapeError
from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder, stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.routed import experts, layers, wide
from attncost.cost.families.said import Said
from attncost.cost.model.delta import GatedDelta
from attncost.cost.model.feed import Feed
from attncost.cost.model.grouped import ALL, Grouped, Projection
from attncost.cost.model.mixer import Mixer
from attncost.cost.settings import Settings
from attncost.patterns.causal import Causal

_MIXED: Final[Settings] = {
    "head_dim": 256,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "full_attention_interval": 4,
}
_ROUTED: Final[Settings] = {
    "num_key_value_heads": 2,
    "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512,
}
_UNSAID: Final[Mapping[str, Settings]] = {
    "qwen3_next": _MIXED
    | _ROUTED
    | {"num_experts": 512, "num_experts_per_tok": 10, "decoder_sparse_step": 1},
    "qwen3_5_text": _MIXED | {"num_key_value_heads": 4},
    "qwen3_5_moe_text": _MIXED | _ROUTED | {"num_experts": 256, "num_experts_per_tok": 8},
}
_SEES: Final = "What sees images is left out, and a token of an image reads as one of text does."
_MORE_TOKENS: Final = "Layers that predict further tokens are left out, as transformers does."


@final
class QwenNext(Family):
    """Decoders of which most layers keep a state in place of keys and values."""

    kinds: ClassVar[Mapping[str, Settings]] = {**_UNSAID, "qwen3_5": {}, "qwen3_5_moe": {}}

    def read(self, said: Said) -> Configuration:
        """Read a decoder; of one that sees images, the part that reads text."""
        if said.kind in _UNSAID:
            return _read(said, ())
        text = said.get("text_config")
        if not isinstance(text, dict):
            raise said.refused("has no text_config of its own")
        kind = f"{said.kind}_text"
        shared = {key: said.get(key) for key in ("architectures", "tie_word_embeddings")}
        theirs = {key: one for key, one in shared.items() if one is not None}
        settings = {**_UNSAID[kind], **text, **theirs, "model_type": kind}
        return _read(Said(settings, said.name, said.source), (_SEES,))


def _read(said: Said, notes: tuple[str, ...]) -> Configuration:
    feeds = _feeds(said)
    found = layers(_mixers(said), feeds, d_model=said.size("hidden_size"))
    return decoder(said, stacked(found), notes=(*notes, _MORE_TOKENS))


def _mixers(said: Said) -> list[Mixer]:
    """Return what mixes tokens in each layer."""
    every = said.size("num_hidden_layers")
    types = said.layer_types(("linear_attention", "full_attention"))
    if types is None:
        step = said.size("full_attention_interval")
        types = ["linear_attention" if (i + 1) % step else "full_attention" for i in range(every)]
    state, attention = _delta(said), _gated(said)
    return [attention if one == "full_attention" else state for one in types]


def _delta(said: Said) -> GatedDelta:
    key_heads, heads = said.size("linear_num_key_heads"), said.size("linear_num_value_heads")
    if heads % key_heads:
        raise ShapeError(
            f"linear_num_key_heads of {said.name} must divide linear_num_value_heads, got "
            f"{key_heads} for {heads}."
        )
    return GatedDelta(
        d_model=said.size("hidden_size"),
        key_heads=key_heads,
        value_heads=heads,
        key_dim=said.size("linear_key_head_dim"),
        value_dim=said.size("linear_value_head_dim"),
        taps=said.size("linear_conv_kernel_dim"),
    )


def _gated(said: Said) -> Grouped:
    biases = ALL if said.flag("attention_bias") else frozenset[Projection]()
    return replace(said.grouped(Causal(), biases=biases, norm=2 * said.head_dim), gate=True)


def _feeds(said: Said) -> list[Feed]:
    """Return the feed-forward of each layer."""
    every = said.size("num_hidden_layers")
    if said.kind == "qwen3_5_text" or said.get("num_experts") == 0:
        return [wide(said, said.size("intermediate_size"))] * every
    shared = wide(said, said.size("shared_expert_intermediate_size"))
    routed = replace(experts(said, count=("num_experts",), shared=shared), shared_gate=True)
    if said.kind == "qwen3_5_moe_text":
        return [routed] * every
    without, step = said.get("mlp_only_layers") or [], said.size("decoder_sparse_step")
    bare = [i in without or bool((i + 1) % step) for i in range(every)]
    dense = wide(said, said.size("intermediate_size")) if any(bare) else routed
    return [dense if one else routed for one in bare]
