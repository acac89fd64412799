"""Phi-3.5-MoE (Abdin et al. 2024, arXiv:2404.14219): experts, and norms that shift too."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, final

from attncost.cost.configuration import Configuration
from attncost.cost.families.decoder import decoder, stacked
from attncost.cost.families.interface import Family
from attncost.cost.families.routed import experts
from attncost.cost.families.said import Said
from attncost.cost.model.grouped import ALL
from attncost.cost.model.layer import Layer
from attncost.cost.settings import Settings
from attncost.patterns.causal import Causal
from attncost.patterns.window import Window


@final
class PhiMoe(Family):
    """Decoders of which every layer has experts."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "phimoe": {"num_key_value_heads": 8, "num_local_experts": 16, "num_experts_per_tok": 2}
    }

    def read(self, said: Said) -> Configuration:
        """Read a decoder."""
        width, d = said.optional("sliding_window"), said.size("hidden_size")
        mixer = said.grouped(
            Causal() if width is None else Window(width),
            biases=ALL if said.flag("attention_bias") else frozenset(),
        )
        feed = experts(said, count=("num_local_experts",), width="intermediate_size")
        layer = Layer(d_model=d, mixers=(mixer,), feed=feed, norms=2, norm_numbers=2)
        found = decoder(said, stacked([layer] * said.size("num_hidden_layers")))
        return replace(found, norms=2 * d, head=said.logits(biased=said.flag("lm_head_bias")))
