"""How people write an amount of memory: `80GiB`, `80GB`, `24576MiB`, or the name of a device.

GB are 10^9 bytes and GiB 2^30, 7 % more: what decides whether a model fits is never guessed. Less
than a MiB is refused, as somebody forgot the unit.
"""

import re
from fractions import Fraction
from typing import Final

from attncost.core.errors import ShapeError, UnknownName
from attncost.cost.planning.devices import device

_UNITS: Final = {
    prefix.lower() + ending: base**power
    for base, ending in ((1000, "b"), (1024, "ib"))
    for power, prefix in enumerate(("", "k", "M", "G", "T", "P"))
    if prefix or base == 1000
}
_LEAST: Final = 1 << 20
_MOST: Final = 1 << 60
# A number from here on that lacks its unit is one of MiB.
_SEVERAL: Final = 1024
_SIZE: Final = r"(\d{1,30}(?:\.\d{1,30})?|\.\d{1,30})\s*([a-z]*)"


def memory_of(text: str) -> int:
    """Return the bytes that a text says; parts of a byte are left out.

    Args:
        text: A number with a unit, a number of bytes, or what `device` knows.

    Raises:
        ShapeError: If it begins as a number and is no size of at least a MiB.
        UnknownName: If it begins as a name and there is no such device.

    >>> memory_of("80GiB"), memory_of("0.5 TB"), memory_of("l4")
    (85899345920, 500000000000, 24000000000)
    """
    written = text.strip().lower()
    found = re.fullmatch(_SIZE, written)
    if found and found[2] in _UNITS:
        return _planned(int(Fraction(found[1]) * _UNITS[found[2]]), text)
    try:
        return device(written).memory
    except UnknownName:
        if not re.match(r"[-+.\d]", written):
            raise
    if found and not found[2]:
        return _planned(int(Fraction(found[1])), text)
    raise _refusal(text)


def _planned(size: int, text: str) -> int:
    if not 1 <= size <= _MOST:
        raise _refusal(text)
    if size < _LEAST:
        number = re.match(r"[\d.]+", text.strip())
        assert number
        unit = "GiB" if float(number[0]) < _SEVERAL else "MiB"
        raise ShapeError(
            f"memory must be at least 1MiB, got {text!r}, which is {size:,} "
            f"{'byte' if size == 1 else 'bytes'}: did you mean {number[0]}{unit}?"
        )
    return size


def _refusal(text: str) -> ShapeError:
    return ShapeError(
        "memory must be a positive size up to 1 EiB with its unit, as in 80GiB (of 2^30 bytes) or "
        f"80GB (of 10^9), a number of bytes or the name of a device, got {text!r:.60}."
    )
