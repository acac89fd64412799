"""ModernBERT: an encoder whose windows look both ways (Warner et al. 2024, arXiv:2412.13663).

Every third layer reads all tokens, the others half of `local_attention` on each side. The formulas
are those of a sequence without padding, which ModernBERT never computes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.said import Said
from attncost.cost.model.ends import Embedding, Head
from attncost.cost.model.grouped import ALL
from attncost.cost.model.layer import Layer
from attncost.cost.settings import Settings
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window


@final
class ModernBert(Family):
    """Encoders with rotary positions, a gate and one norm less than two a layer."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "modernbert": {
            "vocab_size": 50_368,
            "max_position_embeddings": 8192,
            "local_attention": 128,
            "global_attn_every_n_layers": 3,
            "decoder_bias": True,
            "tie_word_embeddings": True,
        }
    }

    def read(self, said: Said) -> Configuration:
        """Read an encoder, with or without its head for masked tokens."""
        if not said.saved_as("ModernBertModel", "MaskedLM"):
            raise said.refused("is saved as neither ModernBertModel nor ModernBertForMaskedLM")
        d, norm = said.size("hidden_size"), 2 if said.flag("norm_bias") else 1
        biases = ALL if said.flag("attention_bias") else frozenset()
        feed = said.dense(gated=True, biased=said.flag("mlp_bias"))
        layers = [
            Layer(
                d_model=d,
                mixers=(replace(said.grouped(pattern, biases=biases), fused=True),),
                feed=feed,
                # What comes out of the embedding went through a norm already.
                norms=1 if i == 0 else 2,
                norm_numbers=norm,
                centred=True,
            )
            for i, pattern in enumerate(_patterns(said))
        ]
        return Configuration(
            name=said.name,
            d_model=d,
            stack=stacked(layers),
            embedding=Embedding(vocabulary=said.size("vocab_size"), others=norm * d),
            head=_head(said, d, norm) if said.saved_as("MaskedLM") else None,
            norms=norm * d,
            source=said.source,
        )


def _patterns(said: Said) -> list[Pattern]:
    every = said.size("global_attn_every_n_layers")
    types = said.layer_types(("full_attention", "sliding_attention")) or [
        "sliding_attention" if i % every else "full_attention"
        for i in range(said.size("num_hidden_layers"))
    ]
    near = Window.from_hugging_face(said.size("local_attention") // 2, causal=False)
    return [near if one == "sliding_attention" else Full() for one in types]


def _head(said: Said, d: int, norm: int) -> Head:
    width = said.size("vocab_size")
    biases = (d if said.flag("classifier_bias") else 0) + (
        width if said.flag("decoder_bias") else 0
    )
    return Head(
        kind="logits",
        width=width,
        transform=True,
        tied=said.flag("tie_word_embeddings"),
        others=norm * d + biases,
    )
