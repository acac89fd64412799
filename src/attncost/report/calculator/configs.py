"""How the page reads a `config.json` by itself: which key says which size, for the plain models.

A key that is left out has what transformers takes for it, as the families of `cost` know it. What a
key says beyond these sizes is refused by name: experts, layers of several kinds, models with a code
of their own. The reader of `cost` stays the measure: what both read, they read alike.
"""

from typing import Any, Final

from attncost.core.expression import Tree
from attncost.cost import families

# The key of a size, and what it is if the key is left out.
_Sized = tuple[str, Tree | None]

_COMMON: Final[dict[str, _Sized]] = {
    "layers": ("num_hidden_layers", None),
    "d_model": ("hidden_size", None),
    "heads": ("num_attention_heads", None),
    "hidden": ("intermediate_size", None),
    "vocabulary": ("vocab_size", None),
}
_DECODER: Final[dict[str, _Sized]] = _COMMON | {
    "kv_heads": ("num_key_value_heads", "heads"),
    "head_dim": ("head_dim", ["/", "d_model", "heads"]),
}
_LOGITS: Final = [["CausalLM", "logits"], ["LMHead", "logits"], ["For", ""]]
_TIED: Final = ["tie_word_embeddings", {"head": "tied"}]
_CROSS: Final = ["add_cross_attention", "attends to another model too"]
_WINDOWS: Final = ["use_sliding_window", "has layers with windows"]
_LAYER_NORMS: Final = {"norm": "layer", "biases": "all", "feed_biases": "on", "feed": "plain"}

_KINDS: Final[dict[str, dict[str, Any]]] = {
    "llama": {
        "sizes": _DECODER,
        "flags": [["attention_bias", {"biases": "all"}], ["mlp_bias", {"feed_biases": "on"}]],
    },
    "mistral": {"sizes": _DECODER, "window": "sliding_window"},
    "qwen2": {"sizes": _DECODER, "fixed": {"biases": "qkv"}, "refused": [_WINDOWS]},
    "qwen3": {
        "sizes": _DECODER,
        "fixed": {"head_norm": "on"},
        "flags": [["attention_bias", {"biases": "all"}]],
        "refused": [_WINDOWS],
    },
    "gpt2": {
        "sizes": {
            "layers": ("n_layer", None),
            "d_model": ("n_embd", None),
            "heads": ("n_head", None),
            "kv_heads": ("", "heads"),
            "head_dim": ("", ["/", "d_model", "heads"]),
            "hidden": ("n_inner", ["*", 4, "d_model"]),
            "vocabulary": ("vocab_size", None),
            "positions": ("n_positions", None),
            "longest": ("n_positions", None),
        },
        "fixed": _LAYER_NORMS,
        "refused": [_CROSS],
    },
    "bert": {
        "sizes": _COMMON
        | {
            "kv_heads": ("", "heads"),
            "head_dim": ("", ["/", "d_model", "heads"]),
            "positions": ("max_position_embeddings", None),
            "longest": ("max_position_embeddings", None),
            "token_types": ("type_vocab_size", None),
        },
        "fixed": _LAYER_NORMS
        | {"attention": "full", "embedding_norms": 1, "last_norm": "off", "head": "pooler"},
        "heads": [["MaskedLM", "masked"], ["For", ""]],
        "refused": [_CROSS, ["is_decoder", "is a decoder of the BERT family"]],
    },
}


def configs() -> dict[str, dict[str, Any]]:
    """Return for every `model_type` that the page reads how it reads it.

    Returns:
        Of each `sizes`: its key and what it is if left out, a tree or None; `unsaid`: keys with
        what transformers takes; `fixed`: what is set whatever is said; `flags`: what a key that is
        switched on sets; `heads`: the head by a part of the class's name, empty for one that is
        refused; `window`: the key of a width; `refused`: keys that must not be switched on.
    """
    known = {
        kind: dict(unsaid)
        for name in families.names()
        for kind, unsaid in families.load(name).kinds.items()
    }
    usual = {"flags": [], "heads": _LOGITS, "window": "", "refused": []}
    found = {}
    for kind, how in _KINDS.items():
        one = {**usual, **how, "unsaid": known[kind]}
        one["fixed"] = {"head": "none"} | how.get("fixed", {})
        one["flags"] = [*one["flags"], *([_TIED] if one["heads"] is _LOGITS else [])]
        found[kind] = one
    return found
