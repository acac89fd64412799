"""MODEL with weights and a text, as a reading: which class it is, and how its vectors are pooled.

A model that was saved as one that writes (`...ForCausalLM`, `...LMHeadModel`) is judged by the next
token; any other by the vectors of its texts. How tokens become a vector stands in
`1_Pooling/config.json`, where sentence-transformers keeps it; without it, it is their mean.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import torch
from torch import Tensor

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.cost.settings import read_settings
from attncost.integrations.checkpoint import Checkpoint
from attncost.integrations.pretrained import load_model
from attncost.integrations.specimen import of_function
from attncost.train.quality.models.passages import each_line, joined
from attncost.train.quality.models.reading import Pooling, Reading

# Longer texts take longer than anybody waits for a first look.
USUAL_LENGTH: Final = 512
USUAL_TEXTS: Final = 32
_WRITES: Final = ("ForCausalLM", "LMHeadModel")
_POOLS: Final[dict[str, Pooling]] = {
    "cls_token": "cls",
    "cls": "cls",
    "mean_tokens": "mean",
    "mean": "mean",
    "mean_sqrt_len_tokens": "mean",  # as long as another, and cosines do not ask for that
    "lasttoken": "last",
}


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Texts:
    """What a model shall read.

    Attributes:
        lines: Of a file.
        source: What it is called.
        together: Whether lines are joined to passages of one length.
        length: Tokens of a text at most; as many as the model reads and `USUAL_LENGTH`, if left
            out.
        most: Texts to read at most.
    """

    lines: Sequence[str]
    source: str
    together: bool = False
    length: int | None = None
    most: int = USUAL_TEXTS


def of_checkpoint(found: Checkpoint, wish: Texts) -> Reading:
    """Load a model, and lay out its texts.

    Raises:
        AttnCostError: If the model or its files do not fit, or nothing can be read.
        UnsupportedOption: If it reads one text and writes another, or pools in a way not known.
    """
    if found.images:
        raise ShapeError(
            f"{found.name} reads images, and what changes is measured on texts: give a model that "
            "reads text."
        )
    settings = read_settings(found.folder)
    if settings.get("is_encoder_decoder"):
        raise UnsupportedOption(
            f"{found.name} reads one text and writes another: expected an encoder, or a model that "
            "predicts the next token."
        )
    found.check_reads_text()
    writes = _writes(settings.get("architectures"))
    pooling, said = (None, ()) if writes else _pooling(found)
    longest = found.readable(wish.length, USUAL_LENGTH)
    lay = joined if wish.together else each_line
    laid = lay(found.folder, wish.lines, longest=longest, most=wish.most, source=wish.source)
    return Reading(
        name=found.name,
        model=load_model(found.folder, writes=writes, implementation="sdpa"),
        texts=laid.texts,
        pooling=pooling,
        described=(*laid.described, *said),
    )


def of_factory(text: str, length: int | None) -> Reading:
    """Return what a function of the user's makes, whose texts are its rows of `input_ids`.

    Raises:
        ShapeError: If it is given anything beside tokens and their mask of padding, or none.
    """
    made = of_function(text, length)
    options: dict[str, Any] = dict(made.options)
    ids = options.pop("input_ids", made.inputs[0] if len(made.inputs) == 1 else None)
    mask = options.pop("attention_mask", None)
    left = sorted(options.keys() - {"use_cache", "labels"})
    if left or not isinstance(ids, Tensor) or ids.ndim != 2 or ids.dtype != torch.int64:
        raise ShapeError(
            f"{text} must return (model, {{'input_ids': tokens}}), with an attention_mask where "
            f"rows are padded, got {', '.join(left) if left else 'no table of tokens'}."
        )
    rows = ids if mask is None else [row[kept.bool()] for row, kept in zip(ids, mask, strict=True)]
    texts = tuple(dict.fromkeys(tuple(int(one) for one in row) for row in rows if len(row) > 1))
    if not texts:
        raise ShapeError(f"{text} brings no row of at least 2 tokens: give longer ones.")
    config = getattr(made.model, "config", None)
    writes = any(type(made.model).__name__.endswith(end) for end in _WRITES)
    if getattr(config, "is_encoder_decoder", False):
        raise UnsupportedOption(f"{text} reads one text and writes another: expected an encoder.")
    rows_said = f"{len(texts):,} different rows of its own."
    return Reading(
        name=text,
        model=made.model,
        texts=texts,
        pooling=None if writes else "mean",
        described=(rows_said,) if writes else (rows_said, "Vectors are means over tokens."),
    )


def _writes(saved: object) -> bool:
    """Say whether a model was saved with the layer that predicts the next token."""
    names = saved if isinstance(saved, list) else []
    return any(str(name).endswith(_WRITES) for name in names)


def _pooling(found: Checkpoint) -> tuple[Pooling, tuple[str, ...]]:
    """Return how tokens become the vector of a text, and how that is said."""
    file = found.folder / "1_Pooling" / "config.json"
    if not file.is_file():
        return "mean", ("Vectors are means over tokens, as nothing beside the weights says how.",)
    names = _named(file)
    known = {_POOLS[name] for name in names if name in _POOLS}
    if len(names) != 1 or not known:
        raise UnsupportedOption(
            f"{file} pools by {', '.join(names) or 'nothing'}: known are mean, cls and lasttoken, "
            "one of them."
        )
    (pooling,) = known
    said = {"mean": "means over tokens", "cls": "their first token", "last": "their last token"}
    return pooling, (f"Vectors are {said[pooling]}.",)


def _named(file: Path) -> list[str]:
    """Return the ways of pooling that a file switches on."""
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ShapeError(f"{file} cannot be read: {error}.") from error
    if not isinstance(settings, dict):
        raise ShapeError(f"{file} must hold an object, got {type(settings).__name__}.")
    mode = settings.get("pooling_mode")
    if isinstance(mode, str):
        return [mode]
    prefix = "pooling_mode_"
    return [
        name.removeprefix(prefix)
        for name, on in settings.items()
        if name.startswith(prefix) and on is True
    ]
