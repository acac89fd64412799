"""Mamba-2: layers of a state space alone, without attention or feed-forward (arXiv:2405.21060)."""

from collections.abc import Mapping
from typing import ClassVar, final

from attncost.core.errors import ShapeError
from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder
from attncost.cost.families.interface import Family
from attncost.cost.families.said import Said
from attncost.cost.model.layer import Layer, Layers
from attncost.cost.model.mamba2 import Mamba2
from attncost.cost.settings import Settings


@final
class Mamba2Family(Family):
    """Decoders whose cache is a state."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "mamba2": {
            "num_heads": 128,
            "head_dim": 64,
            "state_size": 128,
            "expand": 2,
            "conv_kernel": 4,
            "n_groups": 8,
            "use_conv_bias": True,
            "chunk_size": 256,
        }
    }

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        d, heads, wide = (said.size(key) for key in ("hidden_size", "num_heads", "head_dim"))
        if said.size("expand") * d != heads * wide:
            raise ShapeError(
                f"num_heads * head_dim of {said.name} must be expand * hidden_size, got "
                f"{heads} * {wide} for {said.size('expand')} * {d}."
            )
        mixer = Mamba2(
            d_model=d,
            heads=heads,
            head_dim=wide,
            groups=said.size("n_groups"),
            state_dim=said.size("state_size"),
            taps=said.size("conv_kernel"),
            chunk=said.size("chunk_size"),
            biased=said.flag("use_bias"),
            convolution_biased=said.flag("use_conv_bias"),
        )
        layer = Layer(d_model=d, mixers=(mixer,), norms=1)
        return decoder(said, (Layers(layer, said.size("num_hidden_layers")),))
