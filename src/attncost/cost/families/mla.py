"""What models with latent attention share: its sizes, and what the formulas leave out."""

from typing import Final

from attncost.cost.families.decoder import more_tokens
from attncost.cost.families.said import Said
from attncost.cost.model.latent import Latent

_EXPANDED: Final = (
    "A decode step reads the latent cache with absorbed matrices, as in arXiv:2405.04434; "
    "transformers makes all keys and values anew, which costs more."
)


def latent(said: Said) -> Latent:
    """Return latent attention.

    Raises:
        ShapeError: If few heads share keys, for latent ones are not shared so.
    """
    shared = said.optional("num_key_value_heads")
    if shared not in (None, said.size("num_attention_heads")):
        raise said.refused(f"has {shared} num_key_value_heads beside latent attention")
    return Latent(
        d_model=said.size("hidden_size"),
        heads=said.size("num_attention_heads"),
        rank=said.size("kv_lora_rank"),
        query_rank=said.optional("q_lora_rank"),
        nope_dim=said.size("qk_nope_head_dim"),
        rope_dim=said.size("qk_rope_head_dim"),
        value_dim=said.size("v_head_dim"),
        biased=said.flag("attention_bias"),
    )


def notes(said: Said) -> tuple[str, ...]:
    """Return what the formulas leave out."""
    return (_EXPANDED, *more_tokens(said))
