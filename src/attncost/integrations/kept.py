"""What a model keeps and what it is set to, beside what a count sees: its cache, its settings.

The numbers that a cache keeps of each token are read off the cache that the model itself fills with
two tokens on the meta device, so they are exact for every architecture with a standard one: keys
and values, or what DeepSeek keeps in their place. A layer with a window keeps as much of a token
until its window is full. Caches of another kind, such as the states of Mamba, are not read.
"""

import math
from typing import Any, Final

import torch

from attncost.core.errors import ShapeError
from attncost.integrations.architecture import Built
from attncost.integrations.theirs import foreign

# Settings that change no cost: numbers of special tokens, what is for training or for naming.
_WITHOUT_COST: Final = ("_token_id", "dropout", "pdrop", "initializer", "_eps", "epsilon", "label")
# Positions that are learned are parameters, and those are counted.
_NAMES: Final = ("architectures", "dtype", "max_position_embeddings", "transformers_version")
_TOKENS: Final = 2  # with a single one, some models look at the values of their masks


def cached_numbers(built: Built, *, name: str) -> int | None:
    """Return how many numbers the cache keeps of each token, in all layers; None if unknown.

    Args:
        built: The model.
        name: What to call it.
    """
    try:
        with foreign(name), torch.no_grad():
            found = built.module(**built.inputs(_TOKENS, 1))
            layers = getattr(getattr(found, "past_key_values", None), "layers", None)
    except ShapeError:  # so short a text is more than some can do, and no reason not to count them
        return None
    numbers = [_of_layer(layer) for layer in layers or ()]
    known = [one for one in numbers if one is not None]
    return sum(known) if known and len(known) == len(numbers) else None


def _of_layer(layer: Any) -> int | None:  # noqa: ANN401 -- theirs is untyped
    shapes: list[Any] = [
        getattr(getattr(layer, part, None), "shape", None) for part in ("keys", "values")
    ]
    if any(shape is None or len(shape) != 4 or shape[2] != _TOKENS for shape in shapes):
        return None
    return int(sum(math.prod(shape) for shape in shapes)) // _TOKENS


def kept_settings(built: Built) -> dict[str, Any]:
    """Return the settings of a model that may decide what it costs, those left out as usual.

    Only a name can say that one does not; so this keeps what it does not know. Nested ones are
    named `outer.inner`. What a lock cannot hold, such as null, is kept as text.
    """
    config: Any = built.module.config
    return _flat(config.to_dict(), "")


def _flat(given: dict[str, Any], before: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in sorted(given, key=str):
        name, value = f"{before}{key}", given[key]
        if key in _NAMES or str(key).startswith(("_", "rope")):
            continue
        if any(word in str(key) for word in _WITHOUT_COST):
            continue
        found |= _flat(value, f"{name}.") if isinstance(value, dict) else {name: _plain(value)}
    return found


def _plain(value: Any) -> Any:  # noqa: ANN401 -- whatever JSON holds
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    known = isinstance(value, bool | int | str) or (
        isinstance(value, float) and math.isfinite(value)
    )
    return value if known else "null" if value is None else str(value)
