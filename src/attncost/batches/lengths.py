"""The tokens of each text: whole numbers of at least 0, from any list, array or tensor."""

from array import array
from collections.abc import Iterable
from operator import index
from reprlib import repr as shortened
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias, cast

from attncost.core.errors import ShapeError

if TYPE_CHECKING:
    Numbers: TypeAlias = array[int]
else:  # Before Python 3.12 it takes no brackets when it runs.
    Numbers = array


def check_lengths(lengths: Iterable[object]) -> tuple[int, ...]:
    """Return the lengths of texts as whole numbers of Python's.

    Raises:
        ShapeError: If one is no whole number of at least 0.
    """
    try:
        given = tuple(lengths)
        found = tuple(map(index, cast("tuple[SupportsIndex, ...]", given)))
    except TypeError as error:
        raise _refusal(shortened(lengths)) from error
    # A list of True and False says which texts, not how long they are.
    if bool in set(map(type, given)):
        raise _refusal(shortened(given))
    if min(found, default=0) < 0:
        raise _refusal(str(min(found)))
    return found


def whole(numbers: Iterable[int]) -> Numbers:
    """Return numbers in 8 bytes each, which worker processes share where they are not written."""
    return array("q", numbers)


def _refusal(got: str) -> ShapeError:
    return ShapeError(
        "lengths must be whole numbers of at least 0 such as [512, 300], the tokens of each text, "
        f"got {' '.join(got.split())}: pass [len(ids) for ids in texts]."
    )
