"""OLMo 1, 2 and 3: decoders whose norms differ (arXiv:2402.00838, 2501.00656, 2512.13961).

The first learns nothing in its norms; since the second queries and keys have norms over all heads;
three of four layers of the third read a window.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder, stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.said import Said
from attncost.cost.model.grouped import ALL, Grouped
from attncost.cost.model.layer import Layer
from attncost.cost.settings import Settings
from attncost.patterns.causal import Causal
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

_FIRST: Final = "olmo"


@final
class Olmo(Family):
    """Decoders with rotary positions, a gate and few biases."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        _FIRST: {},
        "olmo2": {},
        "olmo3": {"sliding_window": 4096},
    }

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        if said.saved_as("Classification"):
            raise said.refused("ends in classes")
        feed = said.dense(gated=True)
        layers = [
            Layer(
                d_model=feed.d_model,
                mixers=(_attention(said, pattern),),
                feed=feed,
                norms=2,
                norm_numbers=0 if said.kind == _FIRST else 1,
                centred=said.kind == _FIRST,
            )
            for pattern in _patterns(said)
        ]
        found = decoder(said, stacked(layers))
        return replace(found, norms=0) if said.kind == _FIRST else found


def _attention(said: Said, pattern: Pattern) -> Grouped:
    found = said.grouped(pattern, biases=ALL if said.flag("attention_bias") else frozenset())
    if said.kind == _FIRST:
        return found
    return replace(found, norm=(found.heads + found.kv_heads) * found.head_dim)


def _patterns(said: Said) -> list[Pattern]:
    layers = said.size("num_hidden_layers")
    if said.kind != "olmo3":
        return [Causal()] * layers
    types = said.layer_types(("full_attention", "sliding_attention")) or [
        "sliding_attention" if (i + 1) % 4 else "full_attention" for i in range(layers)
    ]
    near = Window(said.size("sliding_window"))
    return [near if one == "sliding_attention" else Causal() for one in types]
