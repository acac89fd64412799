"""How a formula is written: `4·n²·d` for people, `4 n^{2} d` for LaTeX, `O(n²·d)` for its order.

A formula is what a count becomes when it is given symbols: a whole number or a SymPy expression.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from attncost.core.counts import Count, symbol

if TYPE_CHECKING:
    from sympy import Expr

# Factors stand as the papers write them: batch and heads, then lengths, then features.
_FIRST: Final = "bghnmwrde"
_RAISED: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def text(formula: Count) -> str:
    """Write a formula in one line of Unicode.

    >>> from attncost.core.counts import symbol
    >>> n, d = symbol("n"), symbol("d")
    >>> text(4 * d * n**2 + 8 * d**2 * n), text(4096), text(n * (n + 1) / 2), text(n * d**2 / 3)
    ('4·n²·d + 8·n·d²', '4,096', '½·n·(n + 1)', '(1/3)·n·d²')
    >>> text(4 * n * d**2 / symbol("h"))
    '4·n·d²/h'
    """
    import sympy  # noqa: PLC0415 -- costs half a second, and numbers never need it

    return _written(sympy.sympify(formula), _PLAIN)


def latex(formula: Count) -> str:
    r"""Write a formula for LaTeX's mathematics mode.

    >>> from attncost.core.counts import symbol
    >>> print(latex(2 * symbol("d") * symbol("n") ** 2))
    2 \, n^{2} \, d
    """
    import sympy  # noqa: PLC0415 -- see above

    return _written(sympy.sympify(formula), _LATEX)


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


@final
class _Style(NamedTuple):
    """How one notation writes what the two differ in."""

    times: str
    comma: str
    fraction: Callable[[int, int], str]
    over: Callable[[str, str], str]
    atom: Callable[[Any], str]


def _written(part: Any, style: _Style) -> str:  # noqa: ANN401 -- SymPy is untyped
    if part.is_Add:
        return _sum([_written(term, style) for term in sorted(part.args, key=_descending)])
    if part.is_Mul:
        return _product(part, style)
    return _whole(int(part), style) if part.is_Integer else style.atom(part)


def _sum(terms: list[str]) -> str:
    first, *rest = terms
    signed = [f" - {term[1:]}" if term[0] == "-" else f" + {term}" for term in rest]
    return first + "".join(signed)


def _product(product: Any, style: _Style) -> str:  # noqa: ANN401 -- SymPy is untyped
    coefficient, rest = product.as_coeff_Mul()
    parts = sorted(rest.args if rest.is_Mul else [rest], key=_conventional)
    below = [part for part in parts if part.is_Pow and part.exp.is_negative]
    factors = [_factor(part, style) for part in parts if part not in below]
    sign, size = "-" if coefficient < 0 else "", abs(coefficient)
    if size != 1:
        whole = size.is_Integer
        number = _whole(int(size), style) if whole else style.fraction(int(size.p), int(size.q))
        factors.insert(0, number)
    written = style.times.join(factors or ["1"])
    for part in below:
        written = style.over(written, _factor(1 / part, style))
    return sign + written


def _factor(part: Any, style: _Style) -> str:  # noqa: ANN401 -- SymPy is untyped
    return f"({_written(part, style)})" if part.is_Add else _written(part, style)


def _whole(value: int, style: _Style) -> str:
    return f"{value:,}".replace(",", style.comma)


def _plain_fraction(over: int, under: int) -> str:
    return "½" if (over, under) == (1, 2) else f"({over}/{under})"


def _plain_atom(part: Any) -> str:  # noqa: ANN401 -- SymPy is untyped
    if part.is_Pow and part.exp.is_Integer:
        base = _written(part.base, _PLAIN)
        return (f"({base})" if part.base.is_Add else base) + _raised(part.exp)
    if part.is_Function or part.func.__name__ in ("Max", "Min"):
        inside = ", ".join(_written(argument, _PLAIN) for argument in part.args)
        name = part.func.__name__.lower()
        return f"⌈{inside}⌉" if name == "ceiling" else f"{name}({inside})"
    return str(part)


def _latex_fraction(over: int, under: int) -> str:
    return rf"\frac{{{over}}}{{{under}}}"


def _latex_atom(part: Any) -> str:  # noqa: ANN401 -- SymPy is untyped
    import sympy  # noqa: PLC0415 -- see above

    return str(sympy.latex(part))


_PLAIN: Final = _Style("·", ",", _plain_fraction, "{}/{}".format, _plain_atom)
_LATEX: Final = _Style(r" \, ", "{,}", _latex_fraction, r"\frac{{{}}}{{{}}}".format, _latex_atom)


def _raised(exponent: Any) -> str:  # noqa: ANN401 -- SymPy is untyped
    return str(exponent).translate(_RAISED)


def _conventional(factor: Any) -> tuple[int, str]:  # noqa: ANN401 -- SymPy is untyped
    name = str(factor.base if factor.is_Pow else factor)
    return (_FIRST.find(name) if name in _FIRST else len(_FIRST), name)


def _descending(term: Any) -> tuple[int, str]:  # noqa: ANN401 -- SymPy is untyped
    import sympy  # noqa: PLC0415 -- see above

    degree = int(sympy.degree(term, _n())) if term.is_polynomial(_n()) else 0
    return (-degree, str(term))
