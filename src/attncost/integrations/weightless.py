"""What MODEL names for a count: a module without weights, and inputs of any length for it.

`demo` is MiniLM; `layer:d_model=512,heads=8` one layer of attention; a folder or a `config.json`
any text model that transformers can build; a preset, published sizes; a name with a slash, a model
in the local cache of Hugging Face; `package.module:factory`, whatever that function returns.
Everything is made on the meta device, where tensors have shapes and no values.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import torch
from torch import nn

from attncost.core.errors import AttnCostError, ShapeError, UnknownName
from attncost.cost.configuration import Configuration
from attncost.cost.counting.count import count
from attncost.cost.counting.counted import Counted
from attncost.cost.memory.footprint import Footprint
from attncost.cost.memory.memory import MakeOptimizer, memory
from attncost.cost.reading import preset, presets, read_config
from attncost.cost.settings import read_settings
from attncost.integrations import architecture
from attncost.integrations.factory import factory
from attncost.integrations.hf.telling import telling
from attncost.integrations.kept import cached_numbers, kept_settings
from attncost.integrations.pretrained import demo_folder
from attncost.integrations.sizes import DEMO, LAYER, check_size, layer_sizes
from attncost.integrations.theirs import foreign
from attncost.nn.attention import Attention
from attncost.patterns.full import Full

_USUAL: Final = 2048


@final
@dataclass(frozen=True, slots=True)
class Call:
    """A module and what to call it with.

    Attributes:
        module: The module.
        inputs: By position.
        options: By keyword.
        unpadded: Whether these are whole sequences of tokens, so that nothing is padded.
    """

    module: nn.Module
    inputs: tuple[Any, ...]
    options: Mapping[str, Any]
    unpadded: bool = False


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Weightless:
    """A model that can be counted.

    Attributes:
        name: As it was typed, but for a layer, which has one name, and without `/` at its end.
        make: Returns it with inputs of a length and a batch.
        usual: The length to count at, if nobody says otherwise; None if its inputs have sizes of
            their own.
        longest: Tokens that its positions allow; None for any number.
        configuration: Its sizes, if they are understood.
        built: The model of transformers, if it is one.
    """

    name: str
    make: Callable[[int, int], Call]
    usual: int | None
    longest: int | None = None
    configuration: Configuration | None = None
    built: architecture.Built | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that may decide what it costs; none for what has no `config.json`."""
        return {} if self.built is None else kept_settings(self.built)

    def kv_bytes_per_token(self, itemsize: int = 2) -> int | None:
        """Return the bytes that a cache keeps of each token, until windows are full.

        They are those of the cache that the model itself fills; None if it fills none, or one of
        another kind.

        Args:
            itemsize: Bytes of one number; 2 for 16 bit.
        """
        numbers = None if self.built is None else cached_numbers(self.built, name=self.name)
        return None if numbers is None else numbers * itemsize

    def sizes(self, length: int | None = None, batch: int | None = None) -> tuple[int, int] | None:
        """Return length and batch, those left out as usual; None if its inputs have their own.

        Raises:
            ShapeError: If it cannot be called with them.
        """
        if self.usual is None:
            if length is not None or batch is not None:
                raise ShapeError(
                    f"{self.name} returns inputs of its own sizes: leave length and batch out, or "
                    "give the function parameters of these names."
                )
            return None
        for name, given in (("length", length), ("batch", batch)):
            if given is not None:
                check_size(name, given)
        found = {"length": length or self.usual, "batch": batch or 1}
        if self.longest is not None and found["length"] > self.longest:
            raise ShapeError(
                f"{self.name} has positions for {self.longest} tokens, got a length of "
                f"{found['length']}: count shorter ones."
            )
        return found["length"], found["batch"]

    def call(self, length: int | None = None, *, batch: int | None = None) -> Call:
        """Return the module and its inputs; sizes left out are the usual ones.

        Raises:
            ShapeError: If it has no positions for that length, or cannot be made.
        """
        return self.make(*(self.sizes(length, batch) or (1, 1)))

    def counted(
        self, length: int | None = None, *, batch: int | None = None, training: bool = False
    ) -> Counted:
        """Return what one call costs; sizes left out are the usual ones.

        Args:
            length: Tokens of a sequence.
            batch: Sequences.
            training: Forward and backward; the module is then in the mode of training.

        Raises:
            ShapeError: If it cannot be made or called.
        """
        return counted(self.call(length, batch=batch), name=self.name, training=training)


def counted(call: Call, *, name: str, training: bool = False) -> Counted:
    """Return what a call costs.

    Args:
        call: The module and its inputs.
        name: What to call it in an error.
        training: Forward and backward; the module is then in the mode of training.

    Raises:
        ShapeError: If it cannot be called.
    """
    with _called(call, name, training=training):
        return count(call.module, *call.inputs, training=training, **call.options)


def remembered(
    call: Call, *, name: str, training: bool = False, optimizer: MakeOptimizer | None = None
) -> Footprint:
    """Return what a call would hold in memory on a CPU.

    Args:
        call: The module and its inputs.
        name: What to call it in an error.
        training: Forward and backward; the module is then in the mode of training.
        optimizer: Makes the optimizer whose step comes then, if there is one.

    Raises:
        ShapeError: If it cannot be called, or looks at numbers.
    """
    with _called(call, name, training=training), _without_traces():
        return memory(
            call.module, *call.inputs, training=training, optimizer=optimizer, **call.options
        )


@contextmanager
def _without_traces() -> Iterator[None]:
    """Keep fake tensors from printing the trace of an error that is raised all the same."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


@contextmanager
def _called(call: Call, name: str, *, training: bool) -> Iterator[None]:
    call.module.train(training)
    gradients = nullcontext() if training else torch.no_grad()
    with foreign(name), gradients, telling(unpadded=call.unpadded):
        yield


def weightless(text: str) -> Weightless:
    """Return what `text` names.

    Raises:
        ShapeError: If it names what cannot be made.
        UnknownName: If it names nothing.
    """
    if not text.strip():
        raise ShapeError("the model has no name: give demo, a folder, a preset or a function.")
    if text == DEMO:
        return _folder(demo_folder(), name=DEMO)
    if text.partition(":")[0] == LAYER:
        return _layer(text)
    if text in presets():
        return _published(text)
    if Path(text).exists():
        return _folder(Path(text), name=str(Path(text)))
    if ":" in text:
        return _factory(text)
    cached = architecture.cached(text)
    if cached is not None:
        return _folder(cached, name=text)
    known = (DEMO, "layer:d_model=512,heads=8", "package.module:factory", *presets())
    raise UnknownName("model, folder, preset or model in the cache", text, known)


def _layer(text: str) -> Weightless:
    name, block = layer_sizes(text)
    d, h = int(block.d_model), int(block.heads)
    with torch.device("meta"):
        layer = Attention(d, h)

    def make(length: int, batch: int) -> Call:
        # Inside a model what comes before it learns, too.
        x = torch.empty(batch, length, d, device="meta", requires_grad=True)
        return Call(layer, (x,), {})

    return Weightless(
        name=name,
        make=make,
        usual=_USUAL,
        configuration=Configuration.alike("this layer", block, Full()),
    )


def _folder(path: Path, *, name: str) -> Weightless:
    try:
        sizes = read_config(path)
    except AttnCostError:
        sizes = None  # It can be counted all the same, but no formula says what it should be.
    return _architecture(read_settings(path), name=name, sizes=sizes)


def _published(name: str) -> Weightless:
    return _architecture(architecture.published(name), name=name, sizes=preset(name))


def _architecture(
    settings: dict[str, Any], *, name: str, sizes: Configuration | None
) -> Weightless:
    built = architecture.build(settings, name=name)
    longest = built.longest if sizes is None else sizes.longest

    def make(length: int, batch: int) -> Call:
        return Call(built.module, (), built.inputs(length, batch), unpadded=True)

    return Weightless(
        name=name,
        make=make,
        usual=min(longest or built.trained or _USUAL, _USUAL),
        longest=longest,
        configuration=sizes,
        built=built,
    )


def _factory(text: str) -> Weightless:
    found = factory(text)

    def make(length: int, batch: int) -> Call:
        return Call(*found.make(length, batch))

    return Weightless(name=text, make=make, usual=_USUAL if found.sized else None)
