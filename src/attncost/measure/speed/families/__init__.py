"""What is timed to know a machine, and which operations it then prices: one file a family."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from attncost.measure.speed.family import Family, Place
from attncost.measure.speed.operation import Operation

_LAST: Final = "pointwise"


@cache
def families() -> dict[str, Family]:
    """Return all families by name; those that take whole kinds of operations come last."""
    files = sorted((one.name for one in iter_modules(__path__)), key=lambda name: name == _LAST)
    found = [one for name in files for one in import_module(f"{__name__}.{name}").FAMILIES]
    return {family.name: family for family in found}


@cache
def _by_operation() -> dict[str, tuple[Family, ...]]:
    found: dict[str, tuple[Family, ...]] = {}
    for family in families().values():
        for name in family.operations:
            found[name] = (*found.get(name, ()), family)
    return found


def placed(one: Operation) -> tuple[str, Place] | None:
    """Return in which table an operation lies, and where; None if nothing prices it.

    What is worked out number by number and belongs to no other family is arithmetic.
    """
    named = _by_operation().get(one.name, ())
    general = () if named else tuple(x for x in families().values() if not x.operations)
    for family in (*named, *general):
        place = family.place(one)
        if place is not None:
            return family.name, place
    return None
