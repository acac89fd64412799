"""What the settings of a model say, asked for with care: each size is checked where it is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

from attncost.core.errors import ShapeError
from attncost.cost.model.dense import Dense
from attncost.cost.model.ends import Head
from attncost.cost.model.grouped import Grouped, Projection
from attncost.cost.settings import Settings, optional_size, size
from attncost.patterns.interface import Pattern

T = TypeVar("T")

_NO_BIASES: frozenset[Projection] = frozenset()


@final
@dataclass(frozen=True, slots=True)
class Said:
    """Settings with their defaults, the name of the model, and where they are from."""

    settings: Settings
    name: str
    source: str

    @property
    def kind(self) -> str:
        """Its `model_type`."""
        return str(self.settings["model_type"])

    def size(self, key: str) -> int:
        """Return a size that must be there.

        Raises:
            ShapeError: If it is not, or is no positive whole number.
        """
        return size(self.settings, key, model=self.name)

    def optional(self, key: str) -> int | None:
        """Return a size, or None if it is left out or null.

        Raises:
            ShapeError: If it is there and no positive whole number.
        """
        return optional_size(self.settings, key, model=self.name)

    def flag(self, key: str) -> bool:
        """Say whether something is switched on."""
        return bool(self.settings.get(key))

    def listed(self, key: str, kind: type[T]) -> list[T] | None:
        """Return a list of one kind of thing, or None if it is left out or null.

        Raises:
            ShapeError: If it is there and something else.
        """
        found = self.settings.get(key)
        if found is None:
            return None
        if not isinstance(found, list) or not all(isinstance(one, kind) for one in found):
            raise ShapeError(
                f"{key} of {self.name} must be a list of {kind.__name__}, got {found!r}."
            )
        return found

    def get(self, key: str) -> Any:  # noqa: ANN401 -- as it was written
        """Return a setting as it stands, None if it is left out."""
        return self.settings.get(key)

    def refused(self, what: str) -> ShapeError:
        """Return the error that says what is not understood, in words that follow the name."""
        return ShapeError(f"{self.name} {what}, which is not understood: count its module instead.")

    @property
    def head_dim(self) -> int:
        """The features of a head, `hidden_size / num_attention_heads` if they are not said."""
        said = self.optional("head_dim")
        if said is not None:
            return said
        d, h = self.size("hidden_size"), self.size("num_attention_heads")
        if d % h:
            raise ShapeError(
                f"num_attention_heads of {self.name} must divide hidden_size, got {h} heads for "
                f"{d} features, and no head_dim."
            )
        return d // h

    def grouped(
        self,
        pattern: Pattern,
        *,
        biases: frozenset[Projection] = _NO_BIASES,
        norm: int = 0,
        sinks: bool = False,
    ) -> Grouped:
        """Return attention by the names that most models have for its sizes."""
        heads = self.size("num_attention_heads")
        shared = self.optional("num_key_value_heads") or heads
        if heads % shared:
            raise ShapeError(
                f"num_key_value_heads of {self.name} must divide num_attention_heads, got {shared} "
                f"for {heads}."
            )
        return Grouped(
            d_model=self.size("hidden_size"),
            heads=heads,
            kv_heads=shared,
            head_dim=self.head_dim,
            pattern=pattern,
            biases=biases,
            norm=norm,
            sinks=sinks,
        )

    def dense(self, *, gated: bool, biased: bool = False) -> Dense:
        """Return a feed-forward by the names that most models have for its sizes."""
        d, hidden = self.size("hidden_size"), self.size("intermediate_size")
        return Dense(d_model=d, hidden=hidden, gated=gated, biased=biased)

    def logits(self, *, biased: bool = False) -> Head | None:
        """Return the head of a decoder, if the class of its weights has one.

        Raises:
            ShapeError: If it has another head.
        """
        if not self.saved_as("CausalLM", "LMHead", "ConditionalGeneration"):
            if self.saved_as("For"):
                raise self.refused(f"has the head of {', '.join(self.get('architectures'))}")
            return None
        width = self.size("vocab_size")
        return Head(
            kind="logits",
            width=width,
            tied=self.flag("tie_word_embeddings"),
            others=width if biased else 0,
        )

    @property
    def classes(self) -> int:
        """How many classes it tells apart; two unless they are named or numbered."""
        named = self.settings.get("id2label")
        if named is not None and not isinstance(named, dict):
            raise ShapeError(f"id2label of {self.name} must be an object, got {named!r}.")
        return len(named) if named else self.optional("num_labels") or 2

    def saved_as(self, *parts: str) -> bool:
        """Say whether a part stands in the name of the class that the weights were saved from."""
        names = self.listed("architectures", str) or ()
        return any(part in name for name in names for part in parts)

    def layer_types(self, known: Sequence[str]) -> list[str] | None:
        """Return the kind of each layer, if they are said.

        Raises:
            ShapeError: If one is not known, or there are more or fewer than layers.
        """
        said = self.listed("layer_types", str)
        if said is None:
            return None
        layers = self.size("num_hidden_layers")
        if len(said) != layers:
            raise ShapeError(f"{self.name} has {layers} layers and {len(said)} layer_types.")
        for one in said:
            if one not in known:
                raise self.refused(f"has a layer of type {one!r}")
        return list(said)
