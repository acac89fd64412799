"""A formula as MathML Core, which browsers draw without a script or a font of ours.

A sum becomes one `<math>` a term, as a browser breaks no line inside of one and a page may be
narrow. What cannot draw it reads the same in Unicode from `alttext`.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

from attncost.core.counts import Count
from attncost.core.formula import PLAIN, Filled
from attncost.core.notation import Style, is_negative, terms

_FENCES: Final = {"ceiling": ("⌈", "⌉"), "floor": ("⌊", "⌋")}


def mathml(formula: Count | Filled) -> str:
    """Write a formula for a page.

    >>> from attncost.core.counts import symbol
    >>> print(mathml(symbol("n") ** 2))
    <math alttext="n²"><msup><mi>n</mi><mn>2</mn></msup></math>
    """
    import sympy  # noqa: PLC0415 -- costs half a second, and numbers never need it

    filled = formula if isinstance(formula, Filled) else Filled(formula, {})
    style, plain = _MATHML.filled(filled.values), PLAIN.filled(filled.values)
    found: list[str] = []
    for term in terms(sympy.sympify(filled.formula)):
        sign = "\N{MINUS SIGN}" if is_negative(term) else "+" if found else ""
        mark = f'<mo form="{"infix" if found else "prefix"}">{sign}</mo>' if sign else ""
        said = f"{sign}{' ' * bool(found)}{plain.written(-term if is_negative(term) else term)}"
        found.append(f'<math alttext="{escape(said)}">{mark}{style.unsigned(term)}</math>')
    return "<wbr>".join(found)


def _number(value: int) -> str:
    return f"<mn>{value:,}</mn>"


def _name(name: str) -> str:
    letter, _, below = name.partition("_")
    if not below:
        return f"<mi>{escape(name)}</mi>"
    return f"<msub><mi>{escape(letter)}</mi><mi>{escape(below)}</mi></msub>"


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _over(above: str, below: Sequence[str]) -> str:
    return f"<mfrac>{_row(above)}{_row(_TIMES.join(below))}</mfrac>"


def _power(base: str, exponent: int) -> str:
    return f"<msup>{base}{_number(exponent)}</msup>"


def _fenced(left: str, inside: str, right: str) -> str:
    return _row(f"<mo>{left}</mo>", inside, f"<mo>{right}</mo>")


def _call(name: str, arguments: Sequence[str]) -> str:
    inside = "<mo>,</mo>".join(arguments)
    left, right = _FENCES.get(name, ("(", ")"))
    fenced = _fenced(left, inside, right)
    return fenced if name in _FENCES else _row(f"<mi>{escape(name)}</mi>", fenced)


_TIMES: Final = "<mo>·</mo>"
_MATHML: Final = Style(
    number=_number,
    name=_name,
    times=_TIMES,
    plus="<mo>+</mo>",
    minus="<mo>\N{MINUS SIGN}</mo>",
    negative="<mo>\N{MINUS SIGN}</mo>",
    half=lambda over, under: f"<mfrac>{_number(over)}{_number(under)}</mfrac>",
    over=_over,
    power=_power,
    bracketed=lambda inside: _fenced("(", inside, ")"),
    call=_call,
)
