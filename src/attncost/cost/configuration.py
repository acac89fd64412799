"""What a model costs, from its `config.json` alone: no weights, no network.

    layers * (projections + attention + feed-forward) + head

Understood are encoders of the BERT family and decoders of the Llama family; any other is refused
by name, so that no formula is applied to a model that it does not describe.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal, final

from attncost.core.cost import Cost
from attncost.core.counts import Count
from attncost.core.errors import ShapeError, UnknownName
from attncost.cost.block import BlockSizes, block_cost, core_cost, linear_cost
from attncost.cost.crossover import crossover
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

Settings = dict[str, Any]

_GREATEST: Final = 1 << 24


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    """The sizes of a model, and so its cost at any length; one sequence, forward.

    Attributes:
        name: What people call it.
        layers: Blocks, all alike.
        block: The sizes of one.
        attention: The pattern that it was trained with.
        vocabulary: Rows of the embedding.
        longest: Tokens that its positions allow; None for any number.
        head: What follows the last block: `logits` at every token, a `pooler` on the first one.
        source: Where the sizes come from.
    """

    name: str
    layers: int
    block: BlockSizes
    attention: Pattern
    vocabulary: int = 0
    longest: int | None = None
    head: Literal["logits", "pooler"] | None = None
    source: str = ""

    def core(self, length: Count, attention: Pattern | Mechanism | None = None) -> Cost:
        """Return what attention costs between the projections, in all layers."""
        return core_cost(attention or self.attention, self.block, length=length) * self.layers

    def linear(self, length: Count) -> Cost:
        """Return all the rest."""
        return linear_cost(self.block, length=length) * self.layers + self._head(length)

    def cost(self, length: Count, attention: Pattern | Mechanism | None = None) -> Cost:
        """Return the cost of the whole, with its own attention or with another."""
        block = block_cost(attention or self.attention, self.block, length=length)
        return block * self.layers + self._head(length)

    def attention_takes_over(self, *, limit: int) -> int | None:
        """Return the length from which attention costs at least what all the rest does."""
        return crossover(
            lambda n: self.linear(n).useful, lambda n: self.core(n).useful + 1, limit=limit
        )

    def _head(self, length: Count) -> Cost:
        d = self.block.d_model
        if self.head == "logits":
            return Cost.product(length, d, self.vocabulary).named("logits")
        return Cost.product(1, d, d).named("pooler") if self.head == "pooler" else Cost()


def read_config(path: str | Path, *, name: str | None = None) -> Configuration:
    """Read a model's sizes from a folder of Hugging Face, or its `config.json`.

    Args:
        path: The folder or the file.
        name: What to call the model; the name of the folder, if left out.

    Raises:
        ShapeError: If there is no such file, it lacks a size, or it needs code of its own.
        UnknownName: If its architecture is not understood.
    """
    path = Path(path)
    file = path / "config.json" if path.is_dir() else path
    if not file.is_file():
        raise ShapeError(
            f"{path} has no config.json: expected the folder of a Hugging Face model, or that file."
        )
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ShapeError(f"{file} is not JSON: {error}.") from error
    if not isinstance(settings, dict):
        raise ShapeError(f"{file} must hold an object of settings, got {type(settings).__name__}.")
    return _understood(settings, name=name or file.resolve().parent.name, source="its config.json")


def presets() -> tuple[str, ...]:
    """Return the names of the models whose published sizes come with this package."""
    folder = files(__package__) / "presets"
    return tuple(sorted(Path(file.name).stem for file in folder.iterdir()))


def preset(name: str) -> Configuration:
    """Return a model by the name of its preset.

    Raises:
        UnknownName: If there is no such preset.
    """
    if name not in presets():
        raise UnknownName("preset", name, presets())
    settings = json.loads((files(__package__) / "presets" / f"{name}.json").read_text())
    return _understood(settings, name=name, source=settings["source"])


def _understood(settings: Settings, *, name: str, source: str) -> Configuration:
    if "auto_map" in settings:
        raise ShapeError(
            f"{name} needs code of its own ({', '.join(sorted(settings['auto_map']))}), which is "
            "never run: give a model whose architecture comes with transformers."
        )
    kind = str(settings.get("model_type", ""))
    if kind not in _FAMILIES:
        raise UnknownName("understood model_type", kind, _FAMILIES)
    return _FAMILIES[kind](settings, name, source)


def _size(settings: Settings, key: str, *, model: str) -> int:
    """Return a size that must be there.

    Raises:
        ShapeError: If it is not, or is no positive whole number.
    """
    if key not in settings:
        raise ShapeError(f"the config.json of {model} lacks the size {key!r}.")
    size = settings[key]
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= _GREATEST:
        raise ShapeError(
            f"{key} of {model} must be a whole number from 1 to {_GREATEST:,}, got {size!r}."
        )
    return size


def _optional_size(settings: Settings, key: str, *, model: str) -> int | None:
    return None if settings.get(key) is None else _size(settings, key, model=model)


def _encoder(settings: Settings, name: str, source: str) -> Configuration:
    if settings.get("is_decoder"):
        raise ShapeError(f"{name} is a decoder of the BERT family, which is not understood.")
    longest = _size(settings, "max_position_embeddings", model=name)
    if settings["model_type"] != "bert":
        # RoBERTa counts positions from padding_idx + 1.
        longest -= _size(settings, "pad_token_id", model=name) + 1
    return Configuration(
        name=name,
        layers=_size(settings, "num_hidden_layers", model=name),
        block=_block(settings, name, gated=False),
        attention=Full(),
        vocabulary=_size(settings, "vocab_size", model=name),
        longest=longest,
        head="pooler",
        source=source,
    )


def _decoder(settings: Settings, name: str, source: str) -> Configuration:
    if settings.get("use_sliding_window") or len(set(settings.get("layer_types") or [0])) > 1:
        raise ShapeError(f"{name} has windows in some of its layers, which is not understood yet.")
    width = None
    if settings["model_type"] == "mistral":
        width = _optional_size(settings, "sliding_window", model=name)
    writes = any("CausalLM" in kind for kind in settings.get("architectures") or ())
    return Configuration(
        name=name,
        layers=_size(settings, "num_hidden_layers", model=name),
        block=_block(settings, name, gated=True),
        attention=Window(width=width) if width else Causal(),
        vocabulary=_size(settings, "vocab_size", model=name),
        head="logits" if writes else None,
        source=source,
    )


def _block(settings: Settings, model: str, *, gated: bool) -> BlockSizes:
    return BlockSizes(
        d_model=_size(settings, "hidden_size", model=model),
        heads=_size(settings, "num_attention_heads", model=model),
        kv_heads=_optional_size(settings, "num_key_value_heads", model=model),
        head_dim=_optional_size(settings, "head_dim", model=model),
        hidden=_size(settings, "intermediate_size", model=model),
        gated=gated,
    )


_FAMILIES: Final[dict[str, Callable[[Settings, str, str], Configuration]]] = {
    "bert": _encoder,
    "roberta": _encoder,
    "xlm-roberta": _encoder,
    "llama": _decoder,
    "mistral": _decoder,
    "qwen2": _decoder,
    "qwen3": _decoder,
}
