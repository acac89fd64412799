"""DistilBERT: BERT with half of the layers (Sanh et al. 2019, arXiv:1910.01108)."""

from collections.abc import Mapping
from typing import ClassVar, final

from attncost.core.errors import ShapeError
from attncost.cost.configuration import Configuration
from attncost.cost.families.interface import Family
from attncost.cost.families.said import Said
from attncost.cost.model.dense import Dense
from attncost.cost.model.ends import Embedding, Head
from attncost.cost.model.grouped import ALL, Grouped
from attncost.cost.model.layer import Layer, Layers
from attncost.cost.settings import Settings
from attncost.patterns.full import Full


@final
class DistilBert(Family):
    """Encoders with a table of positions, biases everywhere and a norm after each residual."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "distilbert": {
            "vocab_size": 30_522,
            "max_position_embeddings": 512,
            "tie_word_embeddings": True,
        }
    }

    def read(self, said: Said) -> Configuration:
        """Read an encoder, for masked tokens or for classes of whole texts."""
        d, heads, positions = (
            said.size(key) for key in ("dim", "n_heads", "max_position_embeddings")
        )
        if d % heads:
            raise ShapeError(f"n_heads of {said.name} must divide dim, got {heads} for {d}.")
        attention = Grouped(
            d_model=d,
            heads=heads,
            kv_heads=heads,
            head_dim=d // heads,
            pattern=Full(),
            biases=ALL,
        )
        layer = Layer(
            d_model=d,
            mixers=(attention,),
            feed=Dense(d_model=d, hidden=said.size("hidden_dim"), biased=True),
            norms=2,
            norm_numbers=2,
        )
        return Configuration(
            name=said.name,
            d_model=d,
            stack=(Layers(layer, said.size("n_layers")),),
            embedding=Embedding(
                vocabulary=said.size("vocab_size"), positions=positions, others=2 * d
            ),
            head=_head(said, d),
            longest=positions,
            source=said.source,
        )


def _head(said: Said, d: int) -> Head | None:
    if said.saved_as("QuestionAnswering", "TokenClassification", "MultipleChoice"):
        raise said.refused("ends in classes of tokens or choices")
    if said.saved_as("SequenceClassification"):
        others = d + said.classes
        return Head(kind="classes", width=said.classes, transform=True, others=others)
    if not said.saved_as("MaskedLM"):
        return None
    width, tied = said.size("vocab_size"), said.flag("tie_word_embeddings")
    return Head(kind="logits", width=width, transform=True, tied=tied, others=3 * d + width)
