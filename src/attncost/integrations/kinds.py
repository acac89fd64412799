"""What transformers knows: kinds of models, and the classes of each; a mistaken name is refused."""

from difflib import get_close_matches
from typing import Any, Final

from attncost.core.errors import ShapeError
from attncost.cost.settings import Settings, optional_size

_NEAREST: Final = 5  # of some hundreds
# What is a size in every kind of model that has a setting of that name.
_SIZES: Final = (
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"),
    *("n_embd", "n_layer", "n_head", "vocab_size"),
)


def kind_of(given: Settings, *, model: str, known: Any) -> str:  # noqa: ANN401 -- theirs is untyped
    """Return the kind of a model.

    Args:
        given: Its settings.
        model: What to call it in an error.
        known: The kinds that transformers has.

    Raises:
        ShapeError: If it is not among them, or not said.
    """
    kind = given.get("model_type")
    if not kind:
        raise ShapeError(
            f"the config.json of {model} has no model_type: it must say which kind of model it is, "
            "such as 'llama'."
        )
    if str(kind) not in known:
        near = get_close_matches(str(kind), known, n=_NEAREST, cutoff=0.0)
        raise ShapeError(
            f"transformers has no model_type {kind!r} (of {model}); did you mean {near[0]!r}? "
            f"Nearest: {', '.join(near)}."
        )
    return str(kind)


def class_of(given: Settings, *, model: str, transformers: Any) -> str:  # noqa: ANN401 -- untyped
    """Return the class that a model was saved from; empty if its settings do not say.

    Args:
        given: Its settings, of a kind that transformers has.
        model: What to call it in an error.
        transformers: The package.

    Raises:
        ShapeError: If transformers has no such class for this kind.
    """
    kind, named = given["model_type"], given.get("architectures") or [""]
    if not isinstance(named, list) or not isinstance(named[0], str):
        raise ShapeError(f"architectures of {model} must be a list of names, got {named!r}.")
    config = getattr(getattr(transformers, named[0], None), "config_class", None)
    if not named[0] or getattr(config, "model_type", None) == kind:
        return named[0]
    known = _classes(kind, transformers)
    if named[0] not in known:
        raise ShapeError(
            f"architectures of {model} names {named[0]!r}, which transformers does not have for "
            f"model_type {kind!r}; it has {', '.join(known)}."
        )
    return named[0]


def check_sizes(given: Settings, *, model: str) -> None:
    """Refuse what cannot be a size; some models have a list with one for each layer.

    Raises:
        ShapeError: If one is no positive whole number.
    """
    for name in _SIZES:
        if not isinstance(given.get(name), list):
            optional_size(given, name, model=model)


def _classes(kind: str, transformers: Any) -> list[str]:  # noqa: ANN401 -- theirs is untyped
    tables = vars(transformers.models.auto.modeling_auto).items()
    found: set[str] = set()
    for name, table in tables:
        if name.startswith("MODEL_") and name.endswith("MAPPING_NAMES") and kind in table:
            found |= {table[kind]} if isinstance(table[kind], str) else set(table[kind])
    return sorted(found)
