"""Which layers of a model are captured, and who makes their calls."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, final

from torch import nn

from attncost.core.errors import ShapeError, UnknownName, UnsupportedOption
from attncost.integrations.hf.layers import Choice, is_cross, numbered, unserved
from attncost.view.capture.hosts.functions import Functions
from attncost.view.capture.hosts.hugging_face import HuggingFace
from attncost.view.capture.hosts.interface import Host

# A layer belongs to the first that names it; the last can watch any other module as well.
_ANY: Final = Functions()
_HOSTS: Final[tuple[Host, ...]] = (HuggingFace(), _ANY)
# How PyTorch's decoders call a layer that reads elsewhere.
_OF_DECODER: Final = "multihead_attn"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The layers to watch.

    Attributes:
        hosts: Who makes the calls of which, by name.
        others: Attention layers of the model that nobody here can watch.
    """

    hosts: tuple[tuple[Host, Mapping[str, nn.Module]], ...]
    others: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The layers that are watched; none where the whole model is."""
        return tuple(name for _, layers in self.hosts for name in layers if name)


def chosen(model: nn.Module, choice: Choice) -> Chosen:
    """Return the layers that are chosen; all of them, cross-attention too, if `choice` is None.

    Raises:
        ShapeError: If there is no such layer.
        UnknownName: If no layer has such a name.
        UnsupportedOption: If the layers that are meant compute in a way that nobody here can watch.
    """
    hosts = _hosts(model)
    every = {name: module for layers in hosts.values() for name, module in layers.items()}
    others = tuple(name for name in unserved(model) if not _overlaps(name, every))
    if not every and choice is None:
        return Chosen(((_ANY, {"": model}),), others)
    wanted = _wanted(model, every, choice, others)
    found = [
        (host, {name: wanted[name] for name in layers if name in wanted})
        for host, layers in hosts.items()
    ]
    if not every.keys() & wanted.keys():
        found = [(_ANY, wanted)]
    others = tuple(name for name in others if name not in wanted)
    return Chosen(tuple((host, layers) for host, layers in found if layers), others)


def _hosts(model: nn.Module) -> dict[Host, dict[str, nn.Module]]:
    """Return who can watch which layers; nothing within a layer belongs to another host."""
    taken: set[int] = set()
    hosts = {}
    for host in _HOSTS:
        own = {name: one for name, one in host.layers(model).items() if id(one) not in taken}
        taken |= {id(part) for one in own.values() for part in one.modules()}
        hosts[host] = own
    return hosts


def _overlaps(name: str, layers: Iterable[str]) -> bool:
    """Say whether a module is one of some layers, within one or around one."""
    return any(
        name == one or name.startswith(f"{one}.") or one.startswith(f"{name}.") for one in layers
    )


def _wanted(
    model: nn.Module, every: dict[str, nn.Module], choice: Choice, others: tuple[str, ...]
) -> dict[str, nn.Module]:
    if choice is None:
        return every
    if isinstance(choice, str):
        found = _picked(model, every, others, lambda name, _: fnmatchcase(name, choice))
        if not found:
            raise UnknownName("attention layer", choice, every)
        return found
    if callable(choice):
        found = _picked(model, every, others, choice)
        if not found:
            raise ShapeError(f"the function chose none of the {len(every)} attention layers.")
        return found
    if not isinstance(choice, Iterable):
        raise ShapeError(f"layers must be numbers such as range(8) or [0, -1], got {choice!r}.")
    return numbered(_of_self_attention(model, every), [*choice])


def _picked(
    model: nn.Module,
    every: dict[str, nn.Module],
    others: tuple[str, ...],
    picks: Callable[[str, nn.Module], bool],
) -> dict[str, nn.Module]:
    """Return the layers that are picked, or else the modules; a layer of transformers must ask."""
    if found := {name: module for name, module in every.items() if picks(name, module)}:
        return found
    free = {
        name: module
        for name, module in model.named_modules()
        if name and not _overlaps(name, every) and picks(name, module)
    }
    for name in others:
        if name in free and type(free[name]).__module__.startswith("transformers."):
            raise UnsupportedOption(
                f"{name} ({type(free[name]).__name__}) computes attention itself instead of asking "
                "transformers for a function, so its weights cannot be captured: choose other "
                "layers, or take output_attentions=True with attn_implementation='eager'."
            )
    # What lies within a module that is picked is watched with it.
    return {
        name: module
        for name, module in free.items()
        if not any(name.startswith(f"{one}.") for one in free)
    }


def _of_self_attention(model: nn.Module, every: dict[str, nn.Module]) -> dict[str, nn.Module]:
    return {
        name: module for name, module in every.items() if not _reads_elsewhere(model, name, module)
    }


def _reads_elsewhere(model: nn.Module, name: str, module: nn.Module) -> bool:
    around, _, last = name.rpartition(".")
    decodes = isinstance(model.get_submodule(around), nn.TransformerDecoderLayer)
    return (decodes and last == _OF_DECODER) or is_cross(name, module)
