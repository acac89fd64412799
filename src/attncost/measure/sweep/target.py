"""What MODEL names on the command line: sizes that can be priced, and calls that can be timed.

`demo` is MiniLM with real weights; `layer:d_model=512,heads=8` a layer of random weights; a folder
a model of Hugging Face; the name of a preset a model whose sizes were published.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final, final

import torch

from attncost.core.errors import ShapeError, UnknownName
from attncost.cost.configuration import Configuration
from attncost.cost.reading import presets
from attncost.integrations.pretrained import has_weights, load_model
from attncost.integrations.sizes import sized
from attncost.measure.laws.predicted import Predicted
from attncost.measure.sweep.case import Case
from attncost.measure.sweep.layer import QKV, layer_subjects
from attncost.measure.sweep.subject import Subject

IMPLEMENTATIONS: Final = ("sdpa", "eager")
# The attentions that keep all n x n weights in memory, and those that keep none of them.
KEEPS_WEIGHTS: Final = frozenset({"naive", "eager"})
_KEEPS_NONE: Final = frozenset({"full", "causal", "sdpa"})
# What computes a model's or layer's own attention without keeping them.
OWN: Final = frozenset({"full", "sdpa"})

_LAYER_LENGTHS: Final = (64, 128, 256, 512, 1024, 2048, 4096)
_MODEL_LENGTHS: Final = (16, 32, 64, 128, 256, 512, 1024, 2048)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A model or a layer.

    Attributes:
        name: As it was typed, but for a layer, which has one name; a run carries it.
        configuration: Its sizes.
        folder: Where its weights and tokenizer lie; None for a layer or a preset.
        lengths: Where to measure, if nobody says otherwise; empty if it cannot be.
    """

    name: str
    configuration: Configuration
    folder: Path | None
    lengths: tuple[int, ...]

    def subjects(
        self, attentions: Sequence[str] | None = None, qkv: Sequence[str] | None = None
    ) -> tuple[Subject, ...]:
        """Return what can be timed.

        Args:
            attentions: For a layer `naive` or spelled patterns; for a model the implementations
                `sdpa` and `eager`; all of them if left out.
            qkv: For a layer `separate`, `fused`; a model has one way.

        Raises:
            ShapeError: If nothing can be timed, or not in this way.
            UnknownName: If there is no such attention.
        """
        if not self.lengths:
            raise ShapeError(
                f"{self.name} has no weights here, so it can be priced but not measured: give "
                "demo, a layer such as layer:d_model=512,heads=8, or a folder with weights."
            )
        if self.folder is None:
            block = self.configuration.block
            return layer_subjects(
                d_model=block.d_model,
                heads=block.heads,
                attentions=attentions,
                qkv=QKV if qkv is None else qkv,
            )
        if qkv is not None:
            raise ShapeError(f"{self.name} projects in its own way: leave --qkv out.")
        return tuple(self._subject(self.folder, name) for name in attentions or IMPLEMENTATIONS)

    def keeps_weights(self, attention: str) -> bool | None:
        """Return whether an attention holds all weights; None if no closed form is known."""
        known = attention in KEEPS_WEIGHTS | _KEEPS_NONE and not self.configuration.block.gated
        return attention in KEEPS_WEIGHTS if known else None

    def _subject(self, folder: Path, implementation: str) -> Subject:
        if implementation not in IMPLEMENTATIONS:
            raise UnknownName(f"implementation of {self.name}", implementation, IMPLEMENTATIONS)
        sizes, rows = self.configuration, int(self.configuration.embedding.vocabulary)

        @cache
        def model() -> torch.nn.Module:
            writes = sizes.head is not None and sizes.head.kind == "logits"
            return load_model(folder, writes=writes, implementation=implementation)

        def prepare(case: Case) -> Callable[[], object]:
            length = case.length
            generator = torch.Generator().manual_seed(length)
            tokens = torch.randint(rows, (1, length), generator=generator, device="cpu")
            device = torch.get_default_device()
            return partial(model().to(device), input_ids=tokens.to(device), use_cache=False)

        def predict(case: Case) -> Predicted:
            length = case.length
            if sizes.longest is not None and length > sizes.longest:
                raise ShapeError(
                    f"{self.name} has positions for {sizes.longest} tokens, got a length of "
                    f"{length}: measure shorter ones."
                )
            # Both implementations multiply every pair, forbidden ones too.
            core = sizes.core(length).dense
            return Predicted(linear=sizes.linear(length).executed, core=core)

        return Subject(
            name=implementation,
            labels={"attention": implementation},
            prepare=prepare,
            predict=predict,
        )


def target(text: str) -> Target:
    """Return what `text` names.

    Raises:
        ShapeError: If it names a layer or a folder that cannot be read, or a function.
        UnknownName: If it names nothing.
    """
    found = sized(text)
    folder = None if found.path is None else _folder(found.path)
    lengths: tuple[int, ...]
    if found.path is None:
        lengths = () if found.name in presets() else _LAYER_LENGTHS
    else:
        measured = folder is not None and has_weights(folder)
        longest = found.configuration.longest or _MODEL_LENGTHS[-1]
        lengths = tuple(n for n in _MODEL_LENGTHS if n <= longest) if measured else ()
    return Target(
        name=found.name, configuration=found.configuration, folder=folder, lengths=lengths
    )


def _folder(path: Path) -> Path | None:
    """Return where weights lie, if any do."""
    if path.is_dir():
        return path
    # Sizes under another name than config.json belong to no weights beside them.
    return path.parent if path.name == "config.json" else None
