"""How a formula is written: `4·n²·d` for people, `4 n^{2} d` for LaTeX, `O(n²·d)` for its order.

A formula is what a count becomes when it is given symbols: a whole number or a SymPy expression.
`core.mathml` writes it for pages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

from attncost.core.counts import Count, symbol
from attncost.core.notation import Style

if TYPE_CHECKING:
    from sympy import Expr

_RAISED: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@final
@dataclass(frozen=True, slots=True)
class Filled:
    """A formula with numbers in place of its letters, not worked out.

    Attributes:
        formula: The formula.
        values: A number for each letter; one without a number stays.
    """

    formula: Count
    values: Mapping[str, int]

    @property
    def value(self) -> int:
        """What comes out.

        >>> Filled(2 * symbol("n") ** 2, {"n": 3}).value
        18
        """
        import sympy  # noqa: PLC0415 -- costs half a second, and numbers never need it

        pairs = {symbol(name): value for name, value in self.values.items()}
        return int(sympy.sympify(self.formula).subs(pairs))


def text(formula: Count | Filled) -> str:
    """Write a formula in one line of Unicode.

    >>> from attncost.core.counts import symbol
    >>> n, d = symbol("n"), symbol("d")
    >>> text(4 * d * n**2 + 8 * d**2 * n), text(4096), text(n * (n + 1) / 2), text(n * d**2 / 3)
    ('4·n²·d + 8·n·d²', '4,096', '½·n·(n + 1)', '(1/3)·n·d²')
    >>> text(4 * n * d**2 / symbol("h"))
    '4·n·d²/h'
    >>> text(Filled(4 * d * n**2, {"n": 1024, "d": 64}))
    '4·1,024²·64'
    """
    return _in(PLAIN, formula)


def written(count: Count) -> str:
    """Write a count, a number without waiting for SymPy.

    >>> written(4096)
    '4,096'
    """
    return f"{count:,}" if isinstance(count, int) else text(count)


def latex(formula: Count | Filled) -> str:
    r"""Write a formula for LaTeX's mathematics mode.

    >>> from attncost.core.counts import symbol
    >>> print(latex(2 * symbol("d") * symbol("n") ** 2))
    2 \, n^{2} \, d
    """
    return _in(_LATEX, formula)


def for_long(formula: Count) -> Count:
    """Return what a formula becomes once `n` is past every length at which it bends.

    A window of 256 keys is a triangle up to n = 256 and a band from there on: maxima and minima
    give way to the branch that remains.

    >>> from attncost.core.counts import larger, symbol
    >>> text(for_long(larger(0, symbol("n") - 256)))
    'n - 256'
    """
    import sympy  # noqa: PLC0415 -- see above

    # In one walk from the inside out, as either may hold the other.
    bends = sympy.sympify(formula).replace(
        lambda part: isinstance(part, sympy.Max | sympy.Min),
        lambda part: _remaining(part.func, part.args, 1 if part.func is sympy.Max else -1),
    )
    return sympy.expand(bends)


def same(a: Count, b: Count) -> bool:
    """Say whether two formulas differ in nothing but how they are written."""
    import sympy  # noqa: PLC0415 -- see above

    return bool(sympy.expand(sympy.sympify(a) - b) == 0)


def order(formula: Count) -> Count:
    """Return what a formula grows like when its sizes do: its leading terms without factors.

    A size given as a number counts as a constant, so a window of 256 keys is linear in n. A term
    is dropped if another has at least its power of every symbol. Pairs that are counted have a name
    and no formula, unless who counts them says that they grow with the lengths.

    >>> from attncost.core.counts import symbol
    >>> n, d = symbol("n"), symbol("d")
    >>> text(order(2 * d * n * (n + 1) + 8 * n * d**2))
    'n²·d + n·d²'
    """
    import sympy  # noqa: PLC0415 -- see above

    smooth = sympy.sympify(for_long(formula)).replace(sympy.ceiling, lambda a: a)
    smooth = smooth.replace(
        lambda part: getattr(part, "linear", False), lambda part: sum(part.args)
    )
    terms = {
        term.as_independent(*term.free_symbols)[1] if term.free_symbols else sympy.Integer(1)
        for term in sympy.Add.make_args(sympy.expand(smooth))
    }
    return sympy.Add(*(a for a in terms if not any(a != b and _within(a, b) for b in terms)))


def _n() -> "Expr":
    return symbol("n")


def _remaining(kind: Any, arguments: tuple[Any, ...], sign: int) -> "Expr":  # noqa: ANN401
    """Return the argument of a maximum (sign 1) or minimum (-1) that wins as n grows."""
    import sympy  # noqa: PLC0415 -- see above

    best, *others = arguments
    for argument in others:
        lead = sign * sympy.Poly(argument - best, _n()).LC()
        if not (lead.is_positive or lead.is_negative):  # they differ by what is not known
            return kind(*arguments)
        best = argument if lead.is_positive else best
    return best


def _within(a: "Expr", b: "Expr") -> bool:
    powers, bounds = a.as_powers_dict(), b.as_powers_dict()
    # What divides has a power below that of what is not there at all.
    return all(powers[base] <= bounds[base] for base in {*powers, *bounds} - {1})


def _in(style: Style, formula: Count | Filled) -> str:
    import sympy  # noqa: PLC0415 -- see above

    filled = formula if isinstance(formula, Filled) else Filled(formula, {})
    return style.filled(filled.values).written(sympy.sympify(filled.formula))


def _plain_call(name: str, arguments: Sequence[str]) -> str:
    inside = ", ".join(arguments)
    return f"⌈{inside}⌉" if name == "ceiling" else f"{name}({inside})"


def _plain_over(above: str, below: Sequence[str]) -> str:
    return f"{above}/{below[0]}" if len(below) == 1 else f"{above}/({'·'.join(below)})"


PLAIN: Final = Style(
    number="{:,}".format,
    name=str,
    times="·",
    plus=" + ",
    minus=" - ",
    negative="-",
    half=lambda over, under: "½" if (over, under) == (1, 2) else f"({over}/{under})",
    over=_plain_over,
    power=lambda base, exponent: base + str(exponent).translate(_RAISED),
    bracketed="({})".format,
    call=_plain_call,
)


def _latex_name(name: str) -> str:
    import sympy  # noqa: PLC0415 -- see above

    return str(sympy.latex(sympy.Symbol(name)))


def _latex_call(name: str, arguments: Sequence[str]) -> str:
    inside = ", ".join(arguments)
    if name == "ceiling":
        return rf"\left\lceil {inside} \right\rceil"
    called = rf"\{name}" if name in ("max", "min") else rf"\operatorname{{{_latex_text(name)}}}"
    return rf"{called}\left({inside}\right)"


def _latex_text(name: str) -> str:
    return name.replace("_", r"\_")


_LATEX: Final = Style(
    number=lambda value: f"{value:,}".replace(",", "{,}"),
    name=_latex_name,
    times=r" \, ",
    plus=" + ",
    minus=" - ",
    negative="-",
    half=lambda over, under: rf"\frac{{{over}}}{{{under}}}",
    over=lambda above, below: rf"\frac{{{above}}}{{{(chr(92) + ', ').join(below)}}}",
    power=lambda base, exponent: f"{base}^{{{exponent}}}",
    bracketed="({})".format,
    call=_latex_call,
)
