"""What MODEL names, with numbers in it: a call that can be run, not only counted.

`demo` is MiniLM with real weights, and so is a folder that holds some; a layer and what a function
returns have random ones. Inputs are random and the same each time. A preset is sizes alone.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import torch
from torch import nn

from attncost.core.errors import ShapeError
from attncost.cost.configuration import Configuration
from attncost.integrations.factory import Parts, factory
from attncost.integrations.pretrained import has_weights, load_model
from attncost.integrations.sizes import check_size, is_function, layer_sizes, sized
from attncost.nn.attention import Attention

_USUAL: Final = 512


@final
@dataclass(frozen=True, slots=True)
class Real:
    """A call, and its sizes.

    Attributes:
        name: As it was typed, but for a layer, which has one name.
        module: The module.
        inputs: By position.
        options: By keyword.
        length: Tokens of a sequence; None if its inputs have sizes of their own.
        batch: Sequences; None likewise.
    """

    name: str
    module: nn.Module
    inputs: tuple[Any, ...]
    options: dict[str, Any]
    length: int | None = None
    batch: int | None = None


def real(text: str, *, length: int | None = None, batch: int | None = None) -> Real:
    """Return what a text names.

    Args:
        text: A layer, `demo`, a folder with weights or `package.module:factory`.
        length: Tokens of a sequence; 512, or as many as the model takes, if left out.
        batch: Sequences; one, if left out.

    Raises:
        ShapeError: If it has no weights, or cannot be called with these sizes.
        UnknownName: If it names nothing.
    """
    for name, size in (("length", length), ("batch", batch)):
        if size is not None:
            check_size(name, size)
    if is_function(text):
        return _of_function(text, length, batch)
    found = sized(text)
    longest = found.configuration.longest
    if length is not None and longest is not None and length > longest:
        raise ShapeError(
            f"{found.name} has positions for {longest} tokens, got a length of {length}: profile "
            "shorter ones."
        )
    n, rows = length or min(longest or _USUAL, _USUAL), batch or 1
    if text.partition(":")[0] == "layer":
        return Real(found.name, *_layer(text, n, rows), n, rows)
    folder = None if found.path is None else _folder(found.path)
    if folder is None or not has_weights(folder):
        raise ShapeError(
            f"{found.name} has no weights here, so it can be priced but not profiled: give demo, a "
            "layer such as layer:d_model=512,heads=8, a folder with weights or a function."
        )
    return Real(found.name, *_model(folder, found.configuration, n, rows), n, rows)


def _layer(text: str, length: int, batch: int) -> Parts:
    _, block = layer_sizes(text)
    d, h = int(block.d_model), int(block.heads)
    # Inside a model what comes before it learns, too.
    x = torch.randn(batch, length, d, generator=_numbers()).requires_grad_()
    return Attention(d, h), (x,), {}


def _model(folder: Path, sizes: Configuration, length: int, batch: int) -> Parts:
    writes = sizes.head is not None and sizes.head.kind == "logits"
    module = load_model(folder, writes=writes, implementation="sdpa")
    tokens = torch.randint(int(sizes.embedding.vocabulary), (batch, length), generator=_numbers())
    return module, (), {"input_ids": tokens}


def _of_function(text: str, length: int | None, batch: int | None) -> Real:
    found = factory(text, device="cpu")
    if found.sized:
        length, batch = length or _USUAL, batch or 1
        return Real(text, *found.make(length, batch), length, batch)
    if length is not None or batch is not None:
        raise ShapeError(
            f"{text} returns inputs of its own sizes: leave length and batch out, or give the "
            "function parameters of these names."
        )
    return Real(text, *found.make(1, 1))


def _folder(path: Path) -> Path | None:
    if path.is_dir():
        return path
    # Sizes under another name than config.json belong to no weights beside them.
    return path.parent if path.name == "config.json" else None


def _numbers() -> torch.Generator:
    return torch.Generator().manual_seed(0)
