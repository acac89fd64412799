"""Llama, Mistral, Qwen 2 and Qwen 3: decoders with rotary positions, RMS norms and a gate.

Llama 2 and 3: arXiv:2307.09288, arXiv:2407.21783. Mistral: arXiv:2310.06825. Qwen 2 and 3:
arXiv:2407.10671, arXiv:2505.09388.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder, stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.said import Said
from attncost.cost.model.dense import Dense
from attncost.cost.model.grouped import ALL, QKV, Projection
from attncost.cost.model.layer import Layer
from attncost.cost.settings import Settings
from attncost.patterns.causal import Causal
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

_UNSAID: Final[Mapping[str, Settings]] = {
    "llama": {},
    "mistral": {"num_key_value_heads": 8, "sliding_window": 4096},
    "qwen2": {"num_key_value_heads": 32, "sliding_window": 4096, "max_window_layers": 28},
    "qwen3": {
        "num_key_value_heads": 32,
        "head_dim": 128,
        "sliding_window": 4096,
        "max_window_layers": 28,
    },
}


@final
class Llama(Family):
    """Decoders that differ in biases, norms of heads and windows."""

    kinds: ClassVar[Mapping[str, Settings]] = _UNSAID

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        feed = said.dense(gated=True)
        if said.kind == "llama" and said.flag("mlp_bias"):
            feed = Dense(d_model=feed.d_model, hidden=feed.hidden, gated=True, biased=True)
        norm = 2 * said.head_dim if said.kind == "qwen3" else 0
        layers = [
            Layer(
                d_model=feed.d_model,
                mixers=(said.grouped(pattern, biases=_biases(said), norm=norm),),
                feed=feed,
                norms=2,
            )
            for pattern in _patterns(said)
        ]
        return decoder(said, stacked(layers))


def _biases(said: Said) -> frozenset[Projection]:
    if said.kind == "qwen2":
        return QKV
    asked = said.kind != "mistral" and said.flag("attention_bias")
    return ALL if asked else frozenset()


def _patterns(said: Said) -> list[Pattern]:
    """Return what each layer reads; Qwen's windows begin at a layer, and only if asked for."""
    layers, width = said.size("num_hidden_layers"), said.optional("sliding_window")
    if said.kind == "llama" or width is None:
        return [Causal()] * layers
    if said.kind == "mistral":
        return [Window(width)] * layers
    if not said.flag("use_sliding_window"):
        return [Causal()] * layers
    types = said.layer_types(("full_attention", "sliding_attention"))
    if types is None:
        first = said.size("max_window_layers")
        types = ["full_attention" if i < first else "sliding_attention" for i in range(layers)]
    return [Window(width) if one == "sliding_attention" else Causal() for one in types]
