"""GPT-2 and GPT-3 (Radford et al. 2019; Brown et al. 2020, arXiv:2005.14165)."""

from collections.abc import Mapping
from typing import ClassVar, final

from attncost.core.errors import ShapeError
from attncost.cost.configuration import Configuration
from attncost.cost.families.interface import Family
from attncost.cost.families.said import Said
from attncost.cost.model.dense import Dense
from attncost.cost.model.ends import Embedding
from attncost.cost.model.grouped import ALL, Grouped
from attncost.cost.model.layer import Layer, Layers
from attncost.cost.settings import Settings


@final
class Gpt2(Family):
    """Decoders with a table of positions and biases everywhere."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "gpt2": {"n_positions": 1024, "tie_word_embeddings": True}
    }

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        if said.flag("add_cross_attention"):
            raise said.refused("attends to another model too")
        d, heads, positions = (said.size(key) for key in ("n_embd", "n_head", "n_positions"))
        if d % heads:
            raise ShapeError(f"n_head of {said.name} must divide n_embd, got {heads} for {d}.")
        hidden = said.optional("n_inner")
        layer = Layer(
            d_model=d,
            mixers=(
                Grouped(
                    d_model=d,
                    heads=heads,
                    kv_heads=heads,
                    head_dim=d // heads,
                    biases=ALL,
                    fused=True,
                ),
            ),
            feed=Dense(d_model=d, hidden=4 * d if hidden is None else hidden, biased=True),
            norms=2,
            norm_numbers=2,
        )
        return Configuration(
            name=said.name,
            d_model=d,
            stack=(Layers(layer, said.size("n_layer")),),
            embedding=Embedding(vocabulary=said.size("vocab_size"), positions=positions),
            head=said.logits(),
            norms=2 * d,
            longest=positions,
            source=said.source,
        )
