"""A model of transformers twice: as it is for padded batches, with our attention for packed ones.

Our attention takes each text of a packed row by itself. Padded batches are left to the kernels that
the model has anyway, as those are what packing would replace.
"""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from attncost.batches.interface import Batching
from attncost.core.errors import UnsupportedOption
from attncost.cost.configuration import Configuration
from attncost.integrations.hf.packing import packing_collator
from attncost.integrations.hf.padding import padding_collator
from attncost.integrations.hf.register import register
from attncost.integrations.pretrained import load_model, quiet
from attncost.integrations.reader import Collate, Reader

# Under a name that nobody else would take.
_APART: Final = "attncost_apart"


def readers(folder: Path, sizes: Configuration) -> tuple[dict[bool, Reader], str]:
    """Return what reads padded batches, and what packed ones, by whether a way packs.

    Args:
        folder: Configuration and weights.
        sizes: Of the same model.

    Returns:
        Both, or the first alone, and then why, in a sentence.

    Raises:
        ShapeError: If the files cannot be read as a model.
    """
    writes = sizes.head is not None and sizes.head.kind == "logits"
    # Trying a model makes it say more than loading it.
    with quiet(import_module("transformers").utils.logging):
        found = {False: _padded(_loaded(folder, writes=writes))}
        try:
            found[True] = _packed(_loaded(folder, writes=writes))
        except UnsupportedOption as error:
            return found, f"Packing ways were not timed: {error}"
    return found, ""


def _padded(model: Any) -> Reader:  # noqa: ANN401 -- theirs is untyped
    collator = padding_collator(model)
    return Reader(model, lambda way: replace(collator, way=way))


def _packed(model: Any) -> Reader:  # noqa: ANN401 -- theirs is untyped
    model.set_attn_implementation(register(_APART))
    found = packing_collator(model)

    def collator(way: Batching) -> Collate:
        return replace(found, collator=replace(found.collator, way=way))

    return Reader(model, collator)


def _loaded(folder: Path, *, writes: bool) -> Any:  # noqa: ANN401 -- theirs is untyped
    return load_model(folder, writes=writes, implementation="sdpa")
