"""How a formula becomes text: one walk over it, and a style for each notation.

    4·n²·d + 8·n·d²        layers and heads, then lengths, then features; high powers of n first

A style says how a number, a name, a product and so on are written; it knows nothing of order. What
is no sum, product, power or function of SymPy is written as SymPy has it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, final

from attncost.core.counts import symbol

if TYPE_CHECKING:
    from sympy import Expr

# Factors stand as the papers write them.
_FIRST: Final = "lbghnmwrdefqxav"


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Style:
    """How one notation writes each part of a formula.

    Attributes:
        number: A whole number that is not negative.
        name: A symbol.
        times: What stands between factors.
        plus: What stands between terms.
        minus: The same before a negative one.
        negative: What stands before a negative formula.
        half: How a rational number is written, above over below.
        over: A product divided by others.
        power: A base, written, and its exponent.
        bracketed: A sum as a factor.
        call: A function by its name, and its arguments.
    """

    number: Callable[[int], str]
    name: Callable[[str], str]
    times: str
    plus: str
    minus: str
    negative: str
    half: Callable[[int, int], str]
    over: Callable[[str, Sequence[str]], str]
    power: Callable[[str, int], str]
    bracketed: Callable[[str], str]
    call: Callable[[str, Sequence[str]], str]

    def filled(self, values: Mapping[str, int]) -> "Style":
        """Return the same with numbers in place of letters."""
        return replace(self, name=lambda n: self.number(values[n]) if n in values else self.name(n))

    def written(self, formula: Any) -> str:  # noqa: ANN401 -- SymPy is untyped
        """Write a formula."""
        first, *rest = terms(formula)
        parts = [self.negative * is_negative(first) + self.unsigned(first)]
        for term in rest:
            parts += [self.minus if is_negative(term) else self.plus, self.unsigned(term)]
        return "".join(parts)

    def unsigned(self, term: Any) -> str:  # noqa: ANN401 -- SymPy is untyped
        """Write a term without its sign."""
        if not term.is_Mul:
            return self._factor(-term if is_negative(term) else term)
        coefficient, rest = term.as_coeff_Mul()
        parts = sorted(rest.args if rest.is_Mul else [rest], key=_conventional)
        below = [part for part in parts if part.is_Pow and part.exp.is_negative]
        factors = [self._factor(part) for part in parts if part not in below]
        divisors = [self._factor(1 / part) for part in below]
        size = abs(coefficient)
        if divisors and not size.is_Integer:
            divisors.insert(0, self.number(int(size.q)))
            size *= size.q
        if size != 1:
            factors.insert(0, self._rational(size))
        above = self.times.join(factors or [self.number(1)])
        return self.over(above, divisors) if divisors else above

    def _factor(self, part: Any) -> str:  # noqa: ANN401 -- SymPy is untyped
        if part.is_Add:
            return self.bracketed(self.written(part))
        if part.is_Rational:
            return self._rational(part)
        if part.is_Pow and part.exp.is_Integer and part.exp.is_positive:
            return self.power(self._factor(part.base), int(part.exp))
        if part.is_Mul or (part.is_Pow and part.exp.is_negative):
            return self.unsigned(part)
        name = part.func.__name__
        if part.is_Function or name in ("Max", "Min"):
            return self.call(name.lower(), [self.written(argument) for argument in part.args])
        return self.name(str(part))

    def _rational(self, value: Any) -> str:  # noqa: ANN401 -- SymPy is untyped
        return (
            self.number(int(value)) if value.is_Integer else self.half(int(value.p), int(value.q))
        )


def terms(formula: Any) -> list["Expr"]:  # noqa: ANN401 -- SymPy is untyped
    """Return what a formula is the sum of, as it is written."""
    return sorted(formula.args, key=_descending) if formula.is_Add else [formula]


def is_negative(term: Any) -> bool:  # noqa: ANN401 -- SymPy is untyped
    """Say whether a term is written with a minus."""
    return bool(term.as_coeff_Mul()[0].is_negative)


def _conventional(factor: Any) -> tuple[int, str]:  # noqa: ANN401 -- SymPy is untyped
    name = str(factor.base if factor.is_Pow else factor)
    letter = name.partition("_")[0]
    return (_FIRST.find(letter) if letter in _FIRST else len(_FIRST), name)


def _descending(term: Any) -> tuple[int, str]:  # noqa: ANN401 -- SymPy is untyped
    import sympy  # noqa: PLC0415 -- costs half a second, and numbers never need it

    n = symbol("n")
    degree = int(sympy.degree(term, n)) if term.is_polynomial(n) else 0
    return (-degree, str(term))
