"""Seeing what models of transformers hand to their attention functions, and changing nothing.

An attention layer asks `ALL_ATTENTION_FUNCTIONS.get_interface` for its function at every call. For
as long as somebody listens, what that returns first tells of the call and then is the function
itself, so masks, configurations and names of implementations stay as they are. A layer that was
not chosen pays for one more call of Python.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import unwrap
from typing import Any, Final, NamedTuple, TypeAlias, final

from torch import Tensor, nn

from attncost.core.errors import UnsupportedOption
from attncost.integrations.hf.register import interfaces

_ORDER: Final = ("module", "query", "key", "value", "attention_mask")
_PLACE: Final = "get_interface"


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Call:
    """One call of an attention function.

    Attributes:
        module: The layer.
        qkv: Queries, keys and values.
        mask: Whatever the model made for this implementation.
        asked: All else, by keyword.
        implementation: The name under which the layer asked for its function.
    """

    module: nn.Module
    qkv: tuple[Tensor, Tensor, Tensor]
    mask: object
    asked: Mapping[str, Any]
    implementation: str


Listener: TypeAlias = Callable[[Call], None]


class _Heard(NamedTuple):
    """Who listens at one interface, and what was there before."""

    interface: Any
    before: Any
    listeners: list[tuple[frozenset[int], Listener]]


_HEARD: Final[dict[int, _Heard]] = {}


@contextmanager
def listening(modules: list[nn.Module], listener: Listener) -> Iterator[None]:
    """Tell of every call that some layers make meanwhile, before it is made."""
    own = frozenset(map(id, modules)), listener
    places = {id(one): one for one in map(_interface, modules)}
    for place in places.values():
        _listen(place).append(own)
    try:
        yield
    finally:
        for place in places.values():
            _forget(place, own)


def _interface(module: nn.Module) -> Any:  # noqa: ANN401 -- theirs is untyped
    """Return where a layer asks; a model may have a place of its own."""
    around: dict[str, Any] = getattr(unwrap(type(module).forward), "__globals__", {})
    return around.get("ALL_ATTENTION_FUNCTIONS", interfaces()[0])


def _listen(interface: Any) -> list[tuple[frozenset[int], Listener]]:  # noqa: ANN401 -- theirs
    heard = _HEARD.get(id(interface))
    if heard is None:
        heard = _HEARD[id(interface)] = _Heard(interface, vars(interface).get(_PLACE), [])
        setattr(interface, _PLACE, partial(_given, interface.get_interface, heard.listeners))
    return heard.listeners


def _forget(interface: Any, own: tuple[frozenset[int], Listener]) -> None:  # noqa: ANN401 -- theirs
    heard = _HEARD[id(interface)]
    heard.listeners.remove(own)
    if not heard.listeners:
        del _HEARD[id(interface)]
        delattr(interface, _PLACE)
        if heard.before is not None:  # somebody else's, not the method of its class
            setattr(interface, _PLACE, heard.before)


def _given(
    theirs: Callable[..., Any],
    listeners: list[tuple[frozenset[int], Listener]],
    implementation: str | None,
    default: Callable[..., Any],
) -> Callable[..., Any]:
    """Return the function that a layer asks for, and tell of the call that it will make."""
    function = theirs(implementation, default)
    return partial(
        _call, function, listeners, "eager" if implementation is None else implementation
    )


def _call(
    function: Callable[..., Any],
    listeners: list[tuple[frozenset[int], Listener]],
    implementation: str,
    /,
    *given: Any,  # noqa: ANN401 -- what models pass
    **asked: Any,  # noqa: ANN401 -- see above
) -> Any:  # noqa: ANN401 -- what models expect
    module = given[0] if given else asked.get("module")
    told = [listener for modules, listener in listeners if id(module) in modules]
    if told:
        call = _read(given, asked, implementation)
        for listener in told:
            listener(call)
    return function(*given, **asked)


def _read(given: tuple[Any, ...], asked: dict[str, Any], implementation: str) -> Call:
    named = dict(zip(_ORDER, given, strict=False)) | asked
    if len(given) > len(_ORDER) or len(named) != len(given) + len(asked):
        raise UnsupportedOption(
            f"{type(given[0]).__name__} calls its attention with {len(given)} arguments without a "
            f"name, and capture knows {', '.join(_ORDER)}: leave it out with layers=..."
        )
    module, query, key, value = (named.pop(name) for name in _ORDER[:4])
    return Call(
        module=module,
        qkv=(query, key, value),
        mask=named.pop("attention_mask", None),
        asked=named,
        implementation=implementation,
    )
