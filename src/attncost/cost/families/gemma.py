"""Gemma 1, 2 and 3: decoders with heads wider than `d_model / heads`, most of them with windows.

Gemma 1, 2 and 3: arXiv:2403.08295, arXiv:2408.00118, arXiv:2503.19786. Every second layer of Gemma
2 reads all earlier tokens, every sixth of Gemma 3; the others read a window. Of a Gemma 3 that sees
images, the part that reads text.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder, stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.said import Said
from attncost.cost.model.grouped import ALL
from attncost.cost.model.layer import Layer
from attncost.cost.settings import Settings
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

_WIDE: Final[Settings] = {"head_dim": 256, "tie_word_embeddings": True, "vocab_size": 256_000}
# Published files of Gemma 3 leave out most sizes that are these.
_THIRD: Final[Settings] = _WIDE | {
    "vocab_size": 262_208,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "sliding_window": 4096,
    "sliding_window_pattern": 6,
}


@final
class Gemma(Family):
    """Decoders with tied embeddings and a gate; since Gemma 2 four norms a layer."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "gemma": _WIDE | {"num_key_value_heads": 16},
        "gemma2": _WIDE
        | {"num_key_value_heads": 4, "sliding_window": 4096, "sliding_window_pattern": 2},
        "gemma3_text": _THIRD,
        "gemma3": {},
    }

    def read(self, said: Said) -> Configuration:
        """Read a decoder; of one that sees images, the part that reads text."""
        if said.kind != "gemma3":
            return _read(said, ())
        text = said.get("text_config")
        if not isinstance(text, dict):
            raise said.refused("has no text_config of its own")
        shared = {key: said.get(key) for key in ("architectures", "tie_word_embeddings")}
        theirs = {key: one for key, one in shared.items() if one is not None}
        settings = {**_THIRD, **text, **theirs, "model_type": "gemma3_text"}
        return _read(
            Said(settings, said.name, said.source),
            ("what sees images is left out, and a token of an image reads as one of text does",),
        )


def _read(said: Said, notes: tuple[str, ...]) -> Configuration:
    if said.saved_as("Classification"):
        raise said.refused("ends in classes")
    third = said.kind == "gemma3_text"
    if said.flag("use_bidirectional_attention") and not third:
        raise said.refused("reads ahead")
    biases = ALL if said.flag("attention_bias") else frozenset()
    feed = said.dense(gated=True)
    layers = [
        Layer(
            d_model=feed.d_model,
            mixers=(said.grouped(pattern, biases=biases, norm=2 * said.head_dim if third else 0),),
            feed=feed,
            norms=2 if said.kind == "gemma" else 4,
        )
        for pattern in _patterns(said)
    ]
    return decoder(said, stacked(layers), notes=notes)


def _patterns(said: Said) -> list[Pattern]:
    """Return what each layer reads: the last of every few all tokens, the others a window."""
    layers = said.size("num_hidden_layers")
    if said.kind == "gemma":
        return [Causal()] * layers
    types = said.layer_types(("full_attention", "sliding_attention"))
    if types is None:
        every = said.size("sliding_window_pattern")
        types = [
            "sliding_attention" if (i + 1) % every else "full_attention" for i in range(layers)
        ]
    return [_window(said) if one == "sliding_attention" else _all(said) for one in types]


def _all(said: Said) -> Pattern:
    return Full() if said.flag("use_bidirectional_attention") else Causal()


def _window(said: Said) -> Window:
    width = said.size("sliding_window")
    if not said.flag("use_bidirectional_attention"):
        return Window(width)
    # As EmbeddingGemma has it: half of the window on each side, and the query.
    return Window(2 * (width // 2) + 1, ahead=width // 2)
