"""What MODEL names on the command line: sizes that can be priced, and calls that can be timed.

`demo` is MiniLM with real weights; `layer:d_model=512,heads=8` a layer of random weights; a folder
a model of Hugging Face; the name of a preset a model whose sizes were published;
`package.module:factory` what that function makes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, final

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.cost.configuration import Configuration
from attncost.cost.reading import presets
from attncost.integrations.pretrained import has_weights
from attncost.integrations.sizes import is_function, sized
from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.attends import AUTO
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.factories import Made, made
from attncost.measure.subjects.layer import QKV, layer_subjects
from attncost.measure.subjects.lengths import Lengths, usual_lengths
from attncost.measure.subjects.models import IMPLEMENTATIONS, Model
from attncost.measure.subjects.subject import Subject

# The attentions that keep all n x n weights in memory, and those that keep none of them.
KEEPS_WEIGHTS: Final = frozenset({"naive", "eager"})
_KEEPS_NONE: Final = frozenset({"full", "causal", "sdpa"})
# What computes a model's or layer's own attention without keeping them.
OWN: Final = frozenset({"full", "sdpa", "own"})


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A model, a layer or what a function makes.

    Attributes:
        name: As it was typed, but for a layer, which has one name; a run carries it.
        sizes: Its sizes; None of what a function makes.
        folder: Where its weights and tokenizer lie; None for a layer, a preset or a function.
        where: Finds out where to measure, which may run what a function makes; None if it cannot
            be.
    """

    name: str
    sizes: Configuration | None
    folder: Path | None
    where: Callable[[], Lengths | None]

    @property
    def lengths(self) -> tuple[int, ...]:
        """Where to measure, if nobody says otherwise; empty if it cannot be."""
        found = self.where()
        return found.tokens if found else ()

    @property
    def note(self) -> str | None:
        """What these lengths cannot show, in a sentence; None if they show all."""
        found = self.where()
        return found.note if found else None

    @property
    def configuration(self) -> Configuration:
        """Its sizes.

        Raises:
            UnsupportedOption: If a function makes it, which says none.
        """
        if self.sizes is None:
            raise UnsupportedOption(
                f"{self.name} names a function, and sizes are needed: give a folder, a "
                "config.json, a preset or a layer such as layer:d_model=512,heads=8."
            )
        return self.sizes

    def subjects(
        self,
        attentions: Sequence[str] | None = None,
        qkv: Sequence[str] | None = None,
        kernels: Sequence[str] | None = None,
    ) -> tuple[Subject, ...]:
        """Return what can be timed.

        Args:
            attentions: For a layer `naive` or spelled patterns; for a model the implementations
                `sdpa` and `eager`; all of them if left out. What a function makes has its own.
            qkv: For a layer `separate`, `fused`; a model has one way.
            kernels: For a layer `auto` or names of kernels; `auto` if left out.

        Raises:
            ShapeError: If nothing can be timed, or not in this way.
            UnknownName: If there is no such attention or kernel.
            UnsupportedOption: If none of the attentions can run in a kernel.
        """
        if self.sizes is not None and not self.lengths:
            raise ShapeError(
                f"{self.name} has no weights here, so it can be priced but not measured: give "
                "demo, a layer such as layer:d_model=512,heads=8, or a folder with weights."
            )
        if self.folder is None and self.sizes is not None:
            block = self.sizes.block
            return layer_subjects(
                d_model=block.d_model,
                heads=block.heads,
                attentions=attentions,
                qkv=QKV if qkv is None else qkv,
                kernels=(AUTO,) if kernels is None else kernels,
            )
        if qkv is not None:
            raise ShapeError(f"{self.name} projects in its own way: leave --qkv out.")
        if kernels is not None:
            raise ShapeError(f"{self.name} has kernels of its own: leave --kernel out.")
        if self.folder is None or self.sizes is None:
            if attentions is not None:
                raise ShapeError(f"{self.name} attends in its own way: leave --attention out.")
            return (made(self.name).subject(),)
        model = Model(name=self.name, folder=self.folder, sizes=self.sizes)
        return tuple(model.subject(name) for name in attentions or IMPLEMENTATIONS)

    def keeps_weights(self, attention: str) -> bool | None:
        """Return whether an attention holds all weights; None if no closed form is known."""
        known = attention in KEEPS_WEIGHTS | _KEEPS_NONE and not self.configuration.block.gated
        return attention in KEEPS_WEIGHTS if known else None


def target(text: str) -> Target:
    """Return what `text` names.

    Raises:
        ShapeError: If it names a layer or a folder that cannot be read, or a function that fails.
        UnknownName: If it names nothing.
    """
    if text.strip() and is_function(text):
        return _function(made(text))
    found = sized(text)
    folder = None if found.path is None else _folder(found.path)
    measured = found.name not in presets() if found.path is None else _weighty(folder)
    sizes = found.configuration
    return Target(
        name=found.name,
        sizes=sizes,
        folder=folder,
        where=cache(lambda: _lengths(sizes) if measured else None),
    )


def _lengths(sizes: Configuration) -> Lengths:
    def predicted(n: int) -> Predicted:
        linear, core = sizes.linear(n).executed, sizes.core(n).dense
        return Predicted(linear=int(linear), core=int(core))

    return usual_lengths(predicted, longest=sizes.longest)


def _function(found: Made) -> Target:
    def where() -> Lengths | None:
        if not found.sized:
            return None
        predict: Callable[[Case], Predicted] = found.subject().predict
        return usual_lengths(lambda n: predict(Case(length=n)))

    return Target(name=found.name, sizes=None, folder=None, where=cache(where))


def _weighty(folder: Path | None) -> bool:
    return folder is not None and has_weights(folder)


def _folder(path: Path) -> Path | None:
    """Return where weights lie, if any do."""
    if path.is_dir():
        return path
    # Sizes under another name than config.json belong to no weights beside them.
    return path.parent if path.name == "config.json" else None
