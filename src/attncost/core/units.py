"""How a number is written for people: three significant figures and the unit that fits.

Bytes come in powers of 1024 (KiB), everything else in powers of 1000. JSON never passes here: it
keeps every digit.
"""

from typing import Final

UNITS: Final = ("count", "exact", "flops", "rate", "bytes", "seconds", "tokens", "percent", "times")

_LARGE: Final = ("", "k", "M", "G", "T", "P", "E", "Z")
_BINARY: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_BELOW_A_SECOND: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_NAMES: Final = {"flops": "FLOPs", "rate": "FLOP/s", "count": ""}


def show(value: float, unit: str) -> str:
    """Write a value of one of the `UNITS`.

    Args:
        value: The number, in FLOPs, bytes, seconds and so on, without a prefix; a share of 1 for
            `percent`.
        unit: `exact` and `tokens` print every digit, the others three significant ones.

    >>> show(4_294_967_296, "flops"), show(16_777_216, "bytes"), show(0.00123, "seconds")
    ('4.29 GFLOPs', '16.0 MiB', '1.23 ms')
    >>> show(262_144, "exact"), show(0.1234, "percent"), show(30.06, "times")
    ('262,144', '12.3 %', '30.1 x')
    """
    if unit in ("exact", "tokens"):
        return f"{round(value):,}"
    if unit == "percent":
        return f"{_figures(100 * value)} %"
    if unit == "times":
        return f"{_figures(value)} x"
    if unit == "seconds":
        size, name = next(
            (s for s in _BELOW_A_SECOND if abs(value) >= 0.9995 * s[0]),
            _BELOW_A_SECOND[-1] if value else _BELOW_A_SECOND[0],
        )
        return f"{_figures(value / size)} {name}"
    if unit == "bytes":
        scaled, prefix = _scaled(value, 1024, _BINARY)
        return f"{_figures(scaled) if prefix != 'B' else round(scaled)} {prefix}"
    scaled, prefix = _scaled(value, 1000, _LARGE)
    digits = _figures(scaled) if prefix else f"{scaled:.3g}"
    return f"{digits} {prefix}{_NAMES[unit]}".strip()


def _scaled(value: float, base: int, prefixes: tuple[str, ...]) -> tuple[float, str]:
    power = 0
    while abs(value) >= 0.9995 * base and power < len(prefixes) - 1:
        value, power = value / base, power + 1
    return value, prefixes[power]


def _figures(value: float) -> str:
    """Write three significant figures, without an exponent where that is readable."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.{1 if size >= 9.995 else 2 if size >= 0.995 else 3}f}"
