"""In how many bits a number is stored.

Scales of quantised numbers are counted where the format fixes them: MXFP4 has 8 bits for each 32
numbers (Open Compute Project, Microscaling Formats 1.0, 2023). Those of int8, int4 and fp8 depend
on who quantised, and are left out.
"""

from fractions import Fraction
from typing import Final

from attncost.core.counts import Count, ceil_div
from attncost.core.errors import UnknownName

BITS: Final[dict[str, Fraction]] = {
    "float32": Fraction(32),
    "bfloat16": Fraction(16),
    "float16": Fraction(16),
    "fp8": Fraction(8),
    "int8": Fraction(8),
    "mxfp4": 4 + Fraction(8, 32),
    "int4": Fraction(4),
}
# Those whose bits are all that there is: no scales, or scales that the format fixes.
WHOLE: Final = frozenset({"float32", "bfloat16", "float16", "mxfp4"})
_SHORT: Final = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


def precision(name: str) -> str:
    """Return the full name of a precision.

    Raises:
        UnknownName: If there is none of this name.

    >>> precision("bf16")
    'bfloat16'
    """
    name = _SHORT.get(name, name)
    if name not in BITS:
        raise UnknownName("precision", name, (*BITS, *_SHORT))
    return name


def stored(numbers: Count, name: str) -> Count:
    """Return the bytes of so many numbers, rounded up.

    >>> stored(3, "int4"), stored(64, "mxfp4")
    (2, 34)
    """
    return ceil_div(numbers * BITS[name].numerator, 8 * BITS[name].denominator)


def item(name: str) -> str:
    """Write the bytes of one number.

    >>> item("bf16"), item("int4")
    ('2 B', '0.5 B')
    """
    return f"{float(BITS[precision(name)] / 8):g} B"
