"""The attentions that can be dialled: whatever has a formula when its sizes are symbols.

Found by looking, as everywhere: of each pattern, mechanism and formula the whole-number parameters
become symbols, as many as can be compared without values. What counts its pairs one by one has no
formula and is left out, with the reason.
"""

import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, Final, final

from attncost import mechanisms, patterns
from attncost.core.counts import Count, is_counted, symbol
from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.mechanisms import formulas
from attncost.mechanisms.interface import Priced
from attncost.patterns.interface import Pattern
from attncost.report.calculator.settings import Size

_AROUND: Final = "-around"
_LETTERS: Final = {"width": "w", "rank": "r", "stride": "s", "tokens": "t", "dilation": "δ"}
_WIDEST: Final = 1 << 24


@final
@dataclass(frozen=True, slots=True)
class Dialled:
    """An attention whose sizes can be set.

    Attributes:
        name: In formulas; the name of its file, with `-around` for a window that looks both ways.
        kind: Its class.
        dials: The parameters that can be set.
        around: Whether half of its keys come after the query.
    """

    name: str
    kind: type[Any] = field(repr=False)
    dials: tuple[str, ...]
    around: bool = False

    def of(self, sizes: Mapping[str, Count]) -> Pattern | Priced:
        """Return it with sizes, numbers or symbols, by the names of its parameters."""
        given = {name: sizes[name] for name in self.dials}
        if self.around:
            given["ahead"] = sizes["width"] // 2
        numbers = all(isinstance(size, int) for size in given.values())
        made: Pattern | Priced = self.kind(**given) if numbers else _unchecked(self.kind, given)
        return made

    def dialled(self, attention: Pattern) -> dict[str, int] | None:
        """Return the sizes with which it is this attention, or None if there are none."""
        if not isinstance(attention, self.kind):
            return None
        sizes: dict[str, int] = {name: getattr(attention, name) for name in self.dials}
        return sizes if self.of(sizes) == attention else None

    @property
    def title(self) -> str:
        """What people call it."""
        plain = self.name.removesuffix(_AROUND).replace("_", " ")
        return f"{plain}, both sides" if self.name.endswith(_AROUND) else plain

    @property
    def spelling(self) -> str:
        """How `attncost` is asked for it, sizes in braces."""
        said = [f"{name}={{{name}}}" for name in self.dials]
        said += ["ahead={width//2}"] if self.name.endswith(_AROUND) else []
        name = self.name.removesuffix(_AROUND)
        return f"{name}:{','.join(said)}" if said else name


@cache
def attentions() -> tuple[Dialled, ...]:
    """Return all that can be dialled, patterns first, the plainest before others."""
    plain = ("full", "causal", "window")
    found = [one for name, kind in _kinds().items() for one in _dialled(name, kind)]
    order = {name: place for place, name in enumerate((*plain, f"window{_AROUND}"))}
    exact = [one for one in found if issubclass(one.kind, Pattern)]
    exact.sort(key=lambda one: order.get(one.name, len(order)))
    return (*exact, *(one for one in found if not issubclass(one.kind, Pattern)))


def left_out() -> tuple[str, ...]:
    """Return the names of those without a formula in symbols."""
    have = {one.kind for one in attentions()}
    return tuple(name for name, kind in _kinds().items() if kind not in have)


def dials() -> tuple[Size, ...]:
    """Return every size that an attention has, once."""
    found: dict[str, Size] = {}
    for one in attentions():
        for name in one.dials:
            if name not in found:
                found[name] = _size(name, one.kind)
    return tuple(found.values())


def _kinds() -> dict[str, type[Any]]:
    return {
        name: catalogue.load(name)
        for catalogue in (patterns, mechanisms, formulas)
        for name in catalogue.names()
    }


def _dialled(name: str, kind: type[Any]) -> tuple[Dialled, ...]:
    known = {one.name: one.default for one in fields(kind)} if is_dataclass(kind) else {}
    sizes = [one for one, default in known.items() if type(default) is int and default > 0]
    if any(default is MISSING for default in known.values()):
        return ()
    while not _go_with_any(kind, sizes):
        sizes.pop()
    centred = "ahead" in known and known["ahead"] is None
    found = Dialled(name, kind, tuple(sizes), around=centred)
    if not _has_formula(found):
        return ()
    if known.get("ahead") != 0 or "width" not in sizes:
        return (found,)
    return found, Dialled(f"{name}{_AROUND}", kind, tuple(sizes), around=True)


def _go_with_any(kind: type[Any], sizes: list[str]) -> bool:
    """Say whether each size may be the least, whatever the others are."""
    for name in sizes:
        try:
            kind(**{name: 1})
        except ShapeError:
            return False
    return True


def _unchecked(kind: type[Any], given: Mapping[str, Count]) -> Any:  # noqa: ANN401 -- of any kind
    """Return an instance with symbols, which no check of numbers can look at."""
    made = object.__new__(kind)
    for one in fields(kind):
        object.__setattr__(made, one.name, given.get(one.name, one.default))
    return made


def _has_formula(one: Dialled) -> bool:
    """Say whether its cost is a formula when all its sizes are symbols."""
    n, found = symbol("length"), one.of({name: symbol(name) for name in one.dials})
    pairs = found.cost(_dims(n)).useful if isinstance(found, Priced) else found.pairs(n, n)
    return not is_counted(pairs)


def _dims(n: Count) -> Dims:
    h, g, d = symbol("heads"), symbol("kv_heads"), symbol("head_dim")
    return Dims(heads=h, kv_heads=g, length=n, kv_length=n, head_dim=d, d_model=symbol("d_model"))


def _size(name: str, kind: type[Any]) -> Size:
    default = next(one.default for one in fields(kind) if one.name == name)
    said = re.search(rf"^\s+{name}: ([^.;]+)", inspect.getdoc(kind) or "", re.MULTILINE)
    return Size(
        name=name,
        symbol=_LETTERS.get(name, name),
        title=name.capitalize(),
        says=" ".join(said[1].split()) if said else "",
        high=_WIDEST,
        default=default if isinstance(default, int) else 1,
        group="attention",
    )
