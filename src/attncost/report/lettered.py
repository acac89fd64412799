"""A model with letters in place of its sizes, so that its costs come out as formulas.

    sizes 4,096 and 32 of llama-3-8b    ->    d and h, with d = 4,096 and h = 32

Equal sizes of one kind share a letter, and others get a number after it, as `f` and `f_2`. Of
layers that are no plain, latent or dense ones and no experts, sizes stay numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Final, final

from attncost.core.counts import Count, symbol
from attncost.cost.configuration import Configuration
from attncost.cost.model.dense import Dense
from attncost.cost.model.ends import Embedding, Head
from attncost.cost.model.experts import Experts
from attncost.cost.model.grouped import Grouped
from attncost.cost.model.latent import Latent
from attncost.cost.model.layer import Layer, Layers

# Letter and meaning of a size by the name of its field.
_LETTERS: Final = {
    "d_model": ("d", "features of a token between layers"),
    "heads": ("h", "heads"),
    "kv_heads": ("g", "heads of keys and values"),
    "head_dim": ("e", "features of a head"),
    "hidden": ("f", "features inside of a feed-forward"),
    "experts": ("x", "experts"),
    "active": ("a", "experts for each token"),
    "rank": ("r", "features of the latent vector"),
    "query_rank": ("q", "features of the latent vector of queries"),
    "nope_dim": ("e_n", "features of a head without positions"),
    "rope_dim": ("e_r", "features of a head with positions"),
    "value_dim": ("e_v", "features of a value in a head"),
    "vocabulary": ("v", "tokens of the vocabulary"),
    "times": ("l", "layers"),
}
_OUTPUT: Final = ("c", "features or classes at the end")
_KINDS: Final = (Grouped, Latent, Dense, Experts, Embedding, Head, Layer, Layers)


@final
@dataclass(frozen=True, slots=True)
class Lettered:
    """A model of letters.

    Attributes:
        model: Its sizes as letters.
        values: What each letter is.
        meanings: The same in words.
    """

    model: Configuration
    values: Mapping[str, int]
    meanings: Mapping[str, str]


@final
@dataclass(slots=True)
class _Letters:
    """Letters that were given away."""

    classic: bool
    values: dict[str, int] = field(default_factory=dict)
    meanings: dict[str, str] = field(default_factory=dict)

    def of(self, one: Any) -> Any:  # noqa: ANN401 -- any part of a model
        """Return a part of a model with letters in it."""
        if isinstance(one, tuple):
            return tuple(map(self.of, one))
        if not isinstance(one, _KINDS):
            return one
        assert is_dataclass(one)
        shared = isinstance(one, Grouped) and one.kv_heads == one.heads
        names = [f.name for f in fields(one) if not (shared and f.name == "kv_heads")]
        found = {name: self._size(name, getattr(one, name)) for name in names}
        if shared:
            found["kv_heads"] = found["heads"]
        if isinstance(one, Head):
            ends = _LETTERS["vocabulary"] if one.kind == "logits" else _OUTPUT
            found["width"] = self._letter(ends[0], int(one.width), ends[1])
        if isinstance(one, Grouped) and self.classic:
            found["head_dim"] = found["d_model"] / found["heads"]
        return replace(one, **found)

    def _size(self, name: str, value: Any) -> Any:  # noqa: ANN401 -- any field of it
        if not isinstance(value, int) or isinstance(value, bool):
            return self.of(value)
        if name not in _LETTERS or value < 2 or (name == "head_dim" and self.classic):
            return value
        letter, meaning = _LETTERS[name]
        return self._letter(letter, value, meaning)

    def _letter(self, letter: str, value: int, meaning: str) -> Count:
        number, taken = 1, letter
        while self.values.setdefault(taken, value) != value:
            number += 1
            taken = f"{letter}_{number}"
        self.meanings.setdefault(taken, meaning)
        return symbol(taken)


def lettered(model: Configuration) -> Lettered:
    """Return a model of letters.

    Args:
        model: Sizes as numbers.
    """
    plain = [mixer for mixer, _ in model.mixers() if isinstance(mixer, Grouped)]
    classic = all(m.heads == m.kv_heads and m.heads * m.head_dim == m.d_model for m in plain)
    letters = _Letters(classic)
    sizes = {name: getattr(model, name) for name in ("stack", "embedding", "head")}
    found = {name: letters.of(part) for name, part in sizes.items()}
    d = letters.of(Layer(d_model=model.d_model, mixers=())).d_model
    norms = model.norms // model.d_model * d if model.norms % model.d_model == 0 else model.norms
    return Lettered(
        replace(model, d_model=d, norms=norms, **found), letters.values, letters.meanings
    )
