"""What a model costs, from its `config.json` alone: no weights, no network.

    layers * (projections + attention + feed-forward) + head

Understood are encoders of the BERT family and decoders of the GPT-2 and the Llama family; any other
is refused by name, so that no formula is applied to a model that it does not describe.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal, final

from attncost.core.cost import Cost
from attncost.core.counts import Count
from attncost.core.errors import ShapeError, UnknownName
from attncost.cost.block import BlockSizes, block_cost, core_cost, linear_cost
from attncost.cost.crossover import crossover
from attncost.cost.learned import Biased, Learned
from attncost.cost.settings import (
    Settings,
    optional_size,
    preset_settings,
    read_settings,
    refuse_own_code,
    size,
)
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

_NOTHING: Final = Learned()


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
        learned: What it learns beside its embedding and the matrices of its blocks.
        source: Where the sizes come from.
    """

    name: str
    layers: int
    block: BlockSizes
    attention: Pattern
    vocabulary: int = 0
    longest: int | None = None
    head: Literal["logits", "pooler"] | None = None
    learned: Learned = _NOTHING
    source: str = ""

    @property
    def parameters(self) -> Count:
        """How many numbers it learns; those of a tied head once."""
        blocks = self.matrices + self.learned.in_block(self.block) * self.layers
        return self.embedding + blocks + self.learned.norm * self.block.d_model + self._learned_head

    @property
    def embedding(self) -> Count:
        """How many numbers its tables of tokens, positions and token types hold."""
        rows = self.vocabulary + self.learned.positions + self.learned.token_types
        return rows * self.block.d_model

    @property
    def matrices(self) -> Count:
        """How many numbers the matrices of all blocks hold; each is a multiply-add for a token."""
        return linear_cost(self.block, length=1).useful // 2 * self.layers

    @property
    def caches(self) -> bool:
        """Whether it keeps keys and values: what reads ahead cannot write on."""
        return not isinstance(self.attention, Full)

    def kv_bytes_per_token(self, itemsize: int = 2) -> Count:
        """Return the bytes of keys and values that a cache keeps of each token.

        Args:
            itemsize: Bytes of one number; 2 for 16 bit.
        """
        return 2 * self.block.kv_heads * self.block.head_dim * self.layers * itemsize

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

    @property
    def _learned_head(self) -> Count:
        d = self.block.d_model
        if self.head == "logits":
            return 0 if self.learned.tied else self.vocabulary * d
        return d * d + d if self.head == "pooler" else 0

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
    settings = read_settings(path)
    home = path if path.is_dir() else path.parent
    return _understood(settings, name=name or home.resolve().name, source="its config.json")


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
    settings = preset_settings(name)
    return _understood(settings, name=name, source=settings["source"])


def _understood(settings: Settings, *, name: str, source: str) -> Configuration:
    refuse_own_code(settings, model=name)
    kind = str(settings.get("model_type", ""))
    if kind not in _FAMILIES:
        raise UnknownName("understood model_type", kind, _FAMILIES)
    if settings.get("add_cross_attention"):
        raise ShapeError(f"{name} attends to another model too, which is not understood.")
    family, unsaid = _FAMILIES[kind]
    return family(unsaid | settings, name, source)


def _encoder(settings: Settings, name: str, source: str) -> Configuration:
    if settings.get("is_decoder"):
        raise ShapeError(f"{name} is a decoder of the BERT family, which is not understood.")
    longest = positions = size(settings, "max_position_embeddings", model=name)
    if settings["model_type"] != "bert":
        # RoBERTa counts positions from padding_idx + 1.
        longest -= size(settings, "pad_token_id", model=name) + 1
    return Configuration(
        name=name,
        layers=size(settings, "num_hidden_layers", model=name),
        block=_block(settings, name, gated=False),
        attention=Full(),
        vocabulary=size(settings, "vocab_size", model=name),
        longest=longest,
        head="pooler",
        learned=Learned(
            positions=positions,
            token_types=size(settings, "type_vocab_size", model=name),
            norm=2,
            biases=_EVERYWHERE,
        ),
        source=source,
    )


def _gpt2(settings: Settings, name: str, source: str) -> Configuration:
    d, positions = (size(settings, key, model=name) for key in ("n_embd", "n_positions"))
    hidden = optional_size(settings, "n_inner", model=name)
    return Configuration(
        name=name,
        layers=size(settings, "n_layer", model=name),
        block=BlockSizes(
            d_model=d,
            heads=size(settings, "n_head", model=name),
            hidden=4 * d if hidden is None else hidden,
            fused_qkv=True,
        ),
        attention=Causal(),
        vocabulary=size(settings, "vocab_size", model=name),
        longest=positions,
        head=_written(settings),
        learned=Learned(
            positions=positions,
            norm=2,
            biases=_EVERYWHERE,
            tied=bool(settings["tie_word_embeddings"]),
        ),
        source=source,
    )


def _decoder(settings: Settings, name: str, source: str) -> Configuration:
    if settings.get("use_sliding_window") or len(set(settings.get("layer_types") or [0])) > 1:
        raise ShapeError(f"{name} has windows in some of its layers, which is not understood yet.")
    kind, width = settings["model_type"], None
    if kind == "mistral":
        width = optional_size(settings, "sliding_window", model=name)
    biases: list[Biased] = ["qkv"] if kind == "qwen2" else []
    if kind in ("llama", "qwen3") and settings.get("attention_bias"):
        biases += ["qkv", "output"]
    if kind == "llama" and settings.get("mlp_bias"):
        biases.append("feed-forward")
    return Configuration(
        name=name,
        layers=size(settings, "num_hidden_layers", model=name),
        block=_block(settings, name, gated=True),
        attention=Window(width=width) if width else Causal(),
        vocabulary=size(settings, "vocab_size", model=name),
        head=_written(settings),
        learned=Learned(
            norm=1,
            qk_norm=kind == "qwen3",
            biases=frozenset(biases),
            tied=bool(settings.get("tie_word_embeddings")),
        ),
        source=source,
    )


def _written(settings: Settings) -> Literal["logits"] | None:
    """Return the head of a decoder by the class that its weights were saved from."""
    names = settings.get("architectures") or ()
    return "logits" if any("CausalLM" in name or "LMHead" in name for name in names) else None


def _block(settings: Settings, model: str, *, gated: bool) -> BlockSizes:
    return BlockSizes(
        d_model=size(settings, "hidden_size", model=model),
        heads=size(settings, "num_attention_heads", model=model),
        kv_heads=optional_size(settings, "num_key_value_heads", model=model),
        head_dim=optional_size(settings, "head_dim", model=model),
        hidden=size(settings, "intermediate_size", model=model),
        gated=gated,
    )


_EVERYWHERE: Final = frozenset[Biased](("qkv", "output", "feed-forward"))
# Each with the sizes that transformers takes where a config.json leaves them out.
_FAMILIES: Final[dict[str, tuple[Callable[[Settings, str, str], Configuration], Settings]]] = {
    "bert": (_encoder, {"type_vocab_size": 2}),
    "roberta": (_encoder, {"type_vocab_size": 2}),
    "xlm-roberta": (_encoder, {"type_vocab_size": 2}),
    "gpt2": (_gpt2, {"n_positions": 1024, "tie_word_embeddings": True}),
    "llama": (_decoder, {}),
    "mistral": (_decoder, {"num_key_value_heads": 8, "sliding_window": 4096}),
    "qwen2": (_decoder, {"num_key_value_heads": 32}),
    "qwen3": (_decoder, {"num_key_value_heads": 32, "head_dim": 128}),
}
