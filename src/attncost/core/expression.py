"""A formula as plain data, so that a page or another program evaluates what Python says.

    number | "symbol" | [operation, part, ...]      operations: + * / ^ max min ceil floor

A number beyond 2^53 is written as a string of digits, since JSON's readers would round it. What the
operations cannot say is refused: a tree never says less than its formula. Reading costs one walk.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from attncost.core.counts import Count
from attncost.core.errors import UnsupportedOption

Tree: TypeAlias = int | str | list[Any]

# What a double holds exactly.
_EXACT: Final = (1 << 53) - 1
_NAMES: Final = {"Max": "max", "Min": "min", "ceiling": "ceil", "floor": "floor"}


def tree(formula: Count, order: Sequence[str] = ()) -> Tree:
    """Return a formula as a tree.

    Args:
        formula: A whole number, or an expression of symbols.
        order: How the symbols of a product stand; others come after them.

    Raises:
        UnsupportedOption: If a part of it is none of the operations.

    >>> from attncost.core.counts import ceil_div, symbol
    >>> n, d = symbol("n"), symbol("d")
    >>> tree(4 * n**2 * d), tree(ceil_div(n, 2)), tree(2**60)
    (['*', 4, 'd', ['^', 'n', 2]], ['ceil', ['/', 'n', 2]], '1152921504606846976')
    """
    import sympy  # noqa: PLC0415 -- costs half a second, and numbers never need it

    return _tree(sympy.sympify(formula), tuple(order))


@lru_cache(maxsize=1 << 14)
def _tree(part: Any, order: tuple[str, ...]) -> Tree:  # noqa: ANN401 -- SymPy is untyped
    if part.is_Rational:
        over, under = int(part.p), int(part.q)
        return _number(over) if under == 1 else ["/", _number(over), _number(under)]
    if part.is_Symbol:
        return str(part.name)
    if part.is_Add:
        return ["+", *(_tree(term, order) for term in part.as_ordered_terms())]
    if part.is_Mul:
        return _product(part, order)
    if part.is_Pow and part.exp.is_Integer:
        return _power(part, order)
    return _called(part, order)


def _power(power: Any, order: tuple[str, ...]) -> Tree:  # noqa: ANN401 -- SymPy is untyped
    if power.exp < 0:
        return ["/", 1, _tree(1 / power, order)]
    return ["^", _tree(power.base, order), _number(int(power.exp))]


def _called(part: Any, order: tuple[str, ...]) -> Tree:  # noqa: ANN401 -- SymPy is untyped
    name = _NAMES.get(part.func.__name__)
    if name is None:
        raise UnsupportedOption(
            f"{part} is no tree of {', '.join(['+', '*', '/', '^', *_NAMES.values()])}: count it "
            "with numbers instead."
        )
    return [name, *(_tree(argument, order) for argument in sorted(part.args, key=str))]


def _product(product: Any, order: tuple[str, ...]) -> Tree:  # noqa: ANN401 -- SymPy is untyped
    over, under = product.as_numer_denom()
    if under != 1:
        return ["/", _tree(over, order), _tree(under, order)]
    coefficient, rest = product.as_coeff_Mul()
    factors = sorted(rest.args if rest.is_Mul else [rest], key=lambda one: _place(one, order))
    trees = [_tree(factor, order) for factor in factors]
    return ["*", *([] if coefficient == 1 else [_tree(coefficient, order)]), *trees]


@lru_cache(maxsize=1 << 14)
def _place(factor: Any, order: tuple[str, ...]) -> tuple[int, str]:  # noqa: ANN401 -- see above
    names = [symbol.name for symbol in factor.free_symbols]
    places = [order.index(name) for name in names if name in order]
    # A sum stands last, as people write it.
    simple = factor.is_Symbol or factor.is_Pow
    return (min(places, default=len(order)) + (0 if simple else len(order) + 1), str(factor))


def _number(value: int) -> int | str:
    return value if -_EXACT <= value <= _EXACT else str(value)
