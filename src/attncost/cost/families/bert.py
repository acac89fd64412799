"""BERT and RoBERTa: encoders that read ahead (Devlin et al. 2018, arXiv:1810.04805)."""

from collections.abc import Mapping
from typing import ClassVar, Final, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.interface import Family
from attncost.cost.families.said import Said
from attncost.cost.model.ends import Embedding, Head
from attncost.cost.model.grouped import ALL
from attncost.cost.model.layer import Layer, Layers
from attncost.cost.settings import Settings
from attncost.patterns.full import Full

_UNSAID: Final[Settings] = {"type_vocab_size": 2}


@final
class Bert(Family):
    """Encoders with tables of positions, biases everywhere and a norm after each residual."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "bert": _UNSAID,
        "roberta": _UNSAID,
        "xlm-roberta": _UNSAID,
    }

    def read(self, said: Said) -> Configuration:
        """Read an encoder; its decoder is refused."""
        if said.flag("is_decoder"):
            raise said.refused("is a decoder of the BERT family")
        if said.flag("add_cross_attention"):
            raise said.refused("attends to another model too")
        d, positions = said.size("hidden_size"), said.size("max_position_embeddings")
        # RoBERTa counts positions from padding_idx + 1.
        first = 0 if said.kind == "bert" else said.size("pad_token_id") + 1
        layer = Layer(
            d_model=d,
            mixers=(said.grouped(Full(), biases=ALL),),
            feed=said.dense(gated=False, biased=True),
            norms=2,
            norm_numbers=2,
        )
        return Configuration(
            name=said.name,
            d_model=d,
            stack=(Layers(layer, said.size("num_hidden_layers")),),
            embedding=Embedding(
                vocabulary=said.size("vocab_size"),
                positions=positions,
                token_types=said.size("type_vocab_size"),
                others=2 * d,
            ),
            head=_head(said, d),
            longest=positions - first,
            source=said.source,
        )


def _head(said: Said, d: int) -> Head:
    if said.saved_as("MaskedLM"):
        width = said.size("vocab_size")
        return Head(kind="logits", width=width, transform=True, tied=True, others=3 * d + width)
    if said.saved_as("SequenceClassification"):
        return Head(kind="classes", width=said.classes, transform=True, others=d + said.classes)
    if said.saved_as("For"):
        raise said.refused(f"has the head of {', '.join(said.get('architectures'))}")
    return Head(kind="pooler", width=d, others=d)
