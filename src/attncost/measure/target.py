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
from attncost.core.spelling import assignments
from attncost.cost.block import BlockSizes
from attncost.cost.configuration import Configuration, preset, presets, read_config
from attncost.integrations.pretrained import demo_folder, has_weights, load_model
from attncost.measure.layer import QKV, layer_subjects
from attncost.measure.subject import Predicted, Subject
from attncost.patterns.full import Full

DEMO: Final = "demo"
LAYER: Final = "layer"
IMPLEMENTATIONS: Final = ("sdpa", "eager")
# The attentions that keep all n x n weights in memory, and those that keep none of them.
KEEPS_WEIGHTS: Final = frozenset({"naive", "eager"})
_KEEPS_NONE: Final = frozenset({"full", "causal", "sdpa"})
# What computes a model's or layer's own attention without keeping them.
OWN: Final = frozenset({"full", "sdpa"})

_WIDEST: Final = 1 << 16  # a layer of that width has 64 GiB of weights
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
        sizes = self.configuration

        @cache
        def model() -> torch.nn.Module:
            writes = sizes.head == "logits"
            return load_model(folder, writes=writes, implementation=implementation)

        def prepare(length: int) -> Callable[[], object]:
            generator = torch.Generator().manual_seed(length)
            tokens = torch.randint(sizes.vocabulary, (1, length), generator=generator, device="cpu")
            device = torch.get_default_device()
            return partial(model().to(device), input_ids=tokens.to(device), use_cache=False)

        def predict(length: int) -> Predicted:
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
        ShapeError: If it names a layer or a folder that cannot be read.
        UnknownName: If it names nothing.
    """
    if text == DEMO:
        return _folder(demo_folder(), name=DEMO, model="MiniLM-L6")
    if text.partition(":")[0] == LAYER:
        return _layer(text)
    if text in presets():
        return Target(name=text, configuration=preset(text), folder=None, lengths=())
    if Path(text).exists():
        return _folder(Path(text), name=text)
    known = (DEMO, "layer:d_model=512,heads=8", *presets())
    raise UnknownName("model, folder or preset", text, known)


def _layer(text: str) -> Target:
    sizes = {"d_model": 512, "heads": 8} | assignments(text.partition(":")[2], of=LAYER)
    for name in sizes.keys() - {"d_model", "heads"}:
        raise UnknownName("size of a layer", name, ("d_model", "heads"))
    for name, size in sizes.items():
        if not 1 <= size <= _WIDEST:
            raise ShapeError(f"{name} of layer must lie between 1 and {_WIDEST:,}, got {size}.")
    configuration = Configuration(
        name="this layer",
        layers=1,
        block=BlockSizes(d_model=sizes["d_model"], heads=sizes["heads"]),
        attention=Full(),
    )
    # One name for one layer, however it was typed.
    name = f"layer:d_model={sizes['d_model']},heads={sizes['heads']}"
    return Target(name=name, configuration=configuration, folder=None, lengths=_LAYER_LENGTHS)


def _folder(path: Path, *, name: str, model: str | None = None) -> Target:
    sizes = read_config(path, name=model)
    longest = sizes.longest or _MODEL_LENGTHS[-1]
    # Sizes under another name than config.json belong to no weights beside them.
    folder = path if path.is_dir() else path.parent if path.name == "config.json" else None
    measured = folder is not None and has_weights(folder)
    lengths = tuple(n for n in _MODEL_LENGTHS if n <= longest) if measured else ()
    return Target(name=name, configuration=sizes, folder=folder, lengths=lengths)
