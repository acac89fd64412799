"""MODEL with weights and one input that it reads: what can be looked at, not only priced.

`demo` is MiniLM; a folder, or a name in the local cache of Hugging Face, a model with weights, and
a tokenizer or an image processor beside them; `package.module:factory` brings inputs of its own. A
text is cut where the model ends. Lines of a text stand in one row, each a document that reads
itself alone.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final, final

import torch
from jaxtyping import UInt8
from torch import Tensor, nn

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.integrations.checkpoint import Checkpoint
from attncost.integrations.factory import factory
from attncost.integrations.hf.packing import packing_collator
from attncost.integrations.hf.register import register
from attncost.integrations.pixels import pixels
from attncost.integrations.pretrained import Tokens, load_model, quiet, tokens
from attncost.integrations.theirs import foreign

# Tokens of a text, unless somebody wishes more or the model reads fewer.
USUAL: Final = 1024
# Under a name that nobody else would take.
_OURS: Final = "attncost_seen"


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What a model shall read.

    Attributes:
        text: Its lines; None for what brings inputs of its own.
        source: What the text or image is called.
        apart: Whether each line is a document by itself.
        length: Tokens to read at most; as many as the model reads and `USUAL`, if left out.
        image: A file, for a model of images.
    """

    text: tuple[str, ...] | None = None
    source: str = ""
    apart: bool = False
    length: int | None = None
    image: Path | None = None


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Specimen:
    """A model, and one call of it.

    Attributes:
        name: As it was typed.
        model: The model, in evaluation.
        inputs: By position.
        options: By keyword.
        read: What it reads, in a sentence.
        tokens: Of its sequence, or of its source and its target; None where there are no words.
        special: Which tokens of the sequence the tokenizer added.
        left_out: What of the text it does not read, such as "1,024 tokens"; empty if it reads all.
        image: What a model of images sees.
        grid: Rows and columns of its patches.
    """

    name: str
    model: nn.Module
    inputs: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    read: str
    tokens: list[str] | tuple[list[str], list[str]] | None = None
    special: tuple[bool, ...] = ()
    left_out: str = ""
    image: UInt8[Tensor, "h w 3"] | None = None
    grid: tuple[int, int] | None = None

    def __call__(self) -> None:
        """Call the model.

        Raises:
            ShapeError: If its own code raises anything.
        """
        with torch.no_grad(), foreign(self.name):
            self.model(*self.inputs, **self.options)


def of_function(text: str, length: int | None) -> Specimen:
    """Return what a function of the user's makes, with its inputs.

    Args:
        text: `package.module:factory`.
        length: Tokens, if it takes them; `USUAL`, if left out.

    Raises:
        ShapeError: If it fails, or its inputs have sizes of their own.
        UnknownName: If there is no such function.
    """
    found = factory(text, device="cpu")
    if length is not None and not found.sized:
        raise ShapeError(
            f"{text} returns inputs of its own sizes: leave --length out, or give the function a "
            "parameter called length."
        )
    module, inputs, options = found.make(length or USUAL, 1)
    numbers = _numbers(inputs, options)
    return Specimen(
        name=text,
        model=module.eval(),
        inputs=inputs,
        options=options,
        read="Inputs of its own",
        tokens=None if numbers is None else [str(number) for number in numbers],
    )


def specimen(found: Checkpoint, wish: Wish) -> Specimen:
    """Load a model, and lay out what it shall read.

    Args:
        found: Where its weights lie, and what it is.
        wish: What it shall read.

    Raises:
        AttnCostError: If something is missing, or the model cannot read it.
    """
    if wish.image is not None:
        return _of_image(found, wish)
    if wish.apart:
        return _of_lines(found, wish)
    return _of_text(found, wish)


def _of_text(found: Checkpoint, wish: Wish) -> Specimen:
    longest = found.readable(wish.length, USUAL)
    (read,) = tokens(found.folder, ["\n".join(_lines(wish))], longest=longest)
    model = _model(found)
    source, strings = list(read.ids), list(read.strings)
    options: dict[str, Any] = {"input_ids": torch.tensor([source])}
    words: list[str] | tuple[list[str], list[str]] = strings
    if model.config.is_encoder_decoder:
        # It writes the text that it reads: what it was given before each token, and its end.
        first = _first(model)
        options["decoder_input_ids"] = torch.tensor([[first, *source]])
        words = (strings, ["<start>", *strings])
    if getattr(model.config, "use_cache", None) is not None:
        options["use_cache"] = False
    kept = _kept(len(source), "token", first=read.left_out > 0)
    return Specimen(
        name=found.name,
        model=model,
        options=options,
        read=f"{wish.source}, {kept}",
        tokens=words,
        special=read.special,
        left_out=_counted(read.left_out, "token") if read.left_out else "",
    )


def _of_lines(found: Checkpoint, wish: Wish) -> Specimen:
    lines = [line for line in _lines(wish) if line.strip()]
    most = wish.length or USUAL
    longest = min(most, found.longest or most)
    # A line takes a token or more.
    some = _fitting(tokens(found.folder, lines[:most], longest=longest), most)
    model = _model(found)
    with _silent():
        model.set_attn_implementation(register(_OURS))
        collate = packing_collator(model)
    row = collate([list(one.ids) for one in some])
    cut = sum(one.left_out > 0 for one in some)
    left = len(lines) - len(some)
    read = _row(len(some), cut, int(row["input_ids"].numel()), first=left > 0)
    return Specimen(
        name=found.name,
        model=model,
        options=dict(row),
        read=f"{wish.source}, {read}",
        tokens=[string for one in some for string in one.strings],
        special=tuple(special for one in some for special in one.special),
        left_out=_counted(left, "line") if left else "",
    )


def _of_image(found: Checkpoint, wish: Wish) -> Specimen:
    assert wish.image is not None
    seen = pixels(found.folder, wish.image)
    model = _model(found)
    if model.main_input_name != "pixel_values":
        raise ShapeError(f"{found.name} reads text, no images: leave --image out.")
    height, width = seen.shown.shape[:2]
    return Specimen(
        name=found.name,
        model=model,
        options={"pixel_values": seen.values},
        read=f"{wish.source}, {height} x {width} pixels",
        image=seen.shown,
        grid=_grid(model, height, width),
    )


def _model(found: Checkpoint) -> Any:  # noqa: ANN401 -- theirs is untyped
    model: Any = load_model(found.folder, writes=False, implementation="sdpa")
    return model


def _lines(wish: Wish) -> tuple[str, ...]:
    assert wish.text is not None
    return wish.text


def _fitting(read: list[Tokens], most: int) -> list[Tokens]:
    """Return the first texts that fit into a row together."""
    some, room = [], most
    for one in read:
        room -= len(one.ids)
        if room < 0:
            break
        some.append(one)
    return some


def _row(lines: int, cut: int, length: int, *, first: bool) -> str:
    """Say what of a text stands in a row of so many tokens."""
    tokens = _counted(length, "token")
    if lines == 1:
        return f"{'its first line' if first else 'its one line'}{' (cut)' if cut else ''}, {tokens}"
    shown = f"{_kept(lines, 'line', first=True) if first else f'its {lines:,} lines'}"
    some = f" ({cut:,} of them cut)" if cut else ""
    return f"{shown}{some} of {tokens} together, each a document by itself"


def _kept(count: int, what: str, *, first: bool) -> str:
    """Say how many there are, or that they are only the first ones."""
    if not first:
        return _counted(count, what)
    return f"its first {what}" if count == 1 else f"its first {_counted(count, what)}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what if count == 1 else what + 's'}"


def _first(model: Any) -> int:  # noqa: ANN401 -- theirs is untyped
    """Return the token that a decoder begins with."""
    for name in ("decoder_start_token_id", "bos_token_id", "pad_token_id"):
        number = getattr(model.config, name, None)
        if isinstance(number, int):
            return number
    raise UnsupportedOption(
        f"{type(model).__name__} does not say with which token its decoder begins: write a "
        "function that returns (model, inputs), and give it as package.module:function."
    )


def _grid(model: Any, height: int, width: int) -> tuple[int, int] | None:  # noqa: ANN401 -- theirs
    patch = getattr(model.config, "patch_size", None)
    tall, wide = patch if isinstance(patch, list | tuple) else (patch, patch)
    if not (isinstance(tall, int) and isinstance(wide, int)):
        return None
    return height // tall, width // wide


def _numbers(inputs: tuple[Any, ...], options: Mapping[str, Any]) -> list[int] | None:
    """Return the tokens of the first sequence that a call is given, if it is given any."""
    for given in (options.get("input_ids"), *inputs, *options.values()):
        if isinstance(given, Tensor) and given.ndim == 2 and given.dtype == torch.int64:
            return [int(number) for number in given[0]]
    return None


@contextmanager
def _silent() -> Iterator[None]:
    """Keep transformers from saying what it thinks of a model that is tried."""
    with quiet(import_module("transformers").utils.logging):
        yield
