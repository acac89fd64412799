"""gpt-oss (OpenAI 2025, arXiv:2508.10925): experts, alternating windows, a sink for each head.

A sink is a score that no key has: it takes its share of every row's weights, and no FLOPs.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder, stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.routed import experts, layers
from attncost.cost.families.said import Said
from attncost.cost.model.grouped import ALL, Projection
from attncost.cost.settings import Settings
from attncost.patterns.causal import Causal
from attncost.patterns.window import Window

_FULL: Final = "full_attention"
_SLIDING: Final = "sliding_attention"


@final
class GptOss(Family):
    """Decoders with biases everywhere, of which every second layer reads all tokens."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "gpt_oss": {
            "num_key_value_heads": 8,
            "head_dim": 64,
            "num_local_experts": 128,
            "num_experts_per_tok": 4,
            "sliding_window": 128,
            "attention_bias": True,
        }
    }

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        times = said.size("num_hidden_layers")
        types = said.layer_types((_SLIDING, _FULL))
        if types is None:
            types = [_FULL if i % 2 else _SLIDING for i in range(times)]
        biases = ALL if said.flag("attention_bias") else frozenset[Projection]()
        mixers = [
            said.grouped(
                Causal() if one == _FULL else Window(said.size("sliding_window")),
                biases=biases,
                sinks=True,
            )
            for one in types
        ]
        feed = experts(
            said,
            count=("num_experts", "num_local_experts"),
            width="intermediate_size",
            biased=True,
        )
        found = layers(mixers, [feed] * times, d_model=feed.expert.d_model)
        return decoder(said, stacked(found))
