"""T5 and mT5: an encoder, and a decoder that reads what it returns (arXiv:1910.10683, 2010.11934).

A cost at a length is that of as many tokens in both. One more token costs the decoder's layers
alone; it reads as many tokens of the encoder as of the decoder.

From T5 1.1 on the head has a matrix of its own, which transformers counts only after weights are
loaded: without weights it ties it to the table of tokens whatever the settings say.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.said import Said
from attncost.cost.model.dense import Dense
from attncost.cost.model.ends import Embedding
from attncost.cost.model.grouped import Grouped
from attncost.cost.model.layer import Layer, Layers
from attncost.cost.settings import Settings
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern

_PAIR: Final[Settings] = {
    "d_kv": 64,
    "is_encoder_decoder": True,
    "relative_attention_num_buckets": 32,
}


@final
class T5(Family):
    """Encoders and decoders without biases; a table of distances in the first layer of each."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "t5": _PAIR
        | {"vocab_size": 32_128, "feed_forward_proj": "relu", "tie_word_embeddings": True},
        "mt5": _PAIR
        | {"vocab_size": 250_112, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    }

    def read(self, said: Said) -> Configuration:
        """Read both, or the encoder alone if it was saved so."""
        if said.saved_as("Classification", "QuestionAnswering"):
            raise said.refused("ends in classes")
        alone = said.saved_as("EncoderModel")
        if not alone and not said.flag("is_encoder_decoder"):
            raise said.refused("is half of an encoder and decoder")
        d = said.size("d_model")
        return Configuration(
            name=said.name,
            d_model=d,
            stack=_encoder(said, alone=alone) + (() if alone else _decoder(said)),
            embedding=Embedding(vocabulary=said.size("vocab_size")),
            head=None if alone else said.logits(),
            norms=d if alone else 2 * d,
            source=said.source,
        )


def _encoder(said: Said, *, alone: bool) -> tuple[Layers, ...]:
    return stacked(
        Layer(
            d_model=said.size("d_model"),
            mixers=(_attention(said, Full()),),
            feed=_feed(said),
            norms=2,
            others=_distances(said, i),
            encodes=not alone,
        )
        for i in range(said.size("num_layers"))
    )


def _decoder(said: Said) -> tuple[Layers, ...]:
    layers = said.optional("num_decoder_layers") or said.size("num_layers")
    return stacked(
        Layer(
            d_model=said.size("d_model"),
            mixers=(_attention(said, Causal()), _attention(said, Full(), cross=True)),
            feed=_feed(said),
            norms=3,
            others=_distances(said, i),
        )
        for i in range(layers)
    )


def _attention(said: Said, pattern: Pattern, *, cross: bool = False) -> Grouped:
    heads = said.size("num_heads")
    return Grouped(
        d_model=said.size("d_model"),
        heads=heads,
        kv_heads=heads,
        head_dim=said.size("d_kv"),
        pattern=pattern,
        cross=cross,
    )


def _feed(said: Said) -> Dense:
    gate, _, activation = str(said.get("feed_forward_proj")).rpartition("-")
    if gate not in ("", "gated") or not activation:
        raise said.refused(f"has the feed_forward_proj {said.get('feed_forward_proj')!r}")
    return Dense(d_model=said.size("d_model"), hidden=said.size("d_ff"), gated=bool(gate))


def _distances(said: Said, layer: int) -> int:
    if layer:
        return 0
    return said.size("relative_attention_num_buckets") * said.size("num_heads")
