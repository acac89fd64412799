"""Formulas drawn: what the elements say is what Python makes of the same formula."""

from fractions import Fraction
from xml.etree import ElementTree

import pytest
import sympy

from attncost.core.counts import ceil_div, larger, symbol
from attncost.core.formula import Filled, text
from attncost.core.mathml import mathml

n, d, h, e_v = (symbol(name) for name in ("n", "d", "h", "e_v"))

# What MathML Core draws, https://www.w3.org/TR/mathml-core/, 2025.
CORE = frozenset(["math", "mrow", "mi", "mn", "mo", "msup", "msub", "mfrac"])
FORMULAS = [
    4 * n**2 * d + 8 * n * d**2,
    h * n * (n + 1) / 2,
    sympy.Rational(5, 2) * n - 7,
    -n + d**3,
    larger(0, n - 256) * (n + 3) ** 2,
    ceil_div(n, 128) * d,
    (2 * d + n - 5) / (2 * h * d),
    e_v * n,
    65_536,
]


def elements(formula):
    return ElementTree.fromstring(f"<p>{mathml(formula).replace('<wbr>', '')}</p>")


def value(element, values):
    """Work out what is drawn, from the elements alone."""
    inside = [value(child, values) for child in element]
    match element.tag:
        case "mn":
            return f"({element.text.replace(',', '')})"
        case "mi":
            return {"max": "max"}.get(element.text) or f"({values[element.text]})"
        case "mo":
            return {"·": "*", "\N{MINUS SIGN}": "-", "⌈": "-(-(", "⌉": ")//1)"}.get(
                element.text, element.text
            )
        case "msub":
            return f"({values['_'.join(child.text for child in element)]})"
        case "msup":
            return f"({inside[0]})**{inside[1]}"
        case "mfrac":
            return f"Fraction({inside[0]}, 1) / Fraction({inside[1]}, 1)"
        case _:
            return "".join(inside)


@pytest.mark.parametrize("formula", FORMULAS, ids=text)
def test_what_is_drawn_comes_to_what_the_formula_does(formula):
    values = {"n": 300, "d": 7, "h": 3, "e_v": 11, "e": 0, "v": 0}
    drawn = "".join(value(one, values) for one in elements(formula))
    expected = sympy.sympify(formula).subs({symbol(name): at for name, at in values.items()})
    assert eval(drawn, {"Fraction": Fraction, "max": max}) == Fraction(
        int(expected.p), int(expected.q)
    )


@pytest.mark.parametrize("formula", FORMULAS, ids=text)
def test_only_elements_of_mathml_core_are_used_and_a_text_stands_for_each(formula):
    found = elements(formula)
    assert {one.tag for one in found.iter()} - {"p"} <= CORE
    said = " ".join(one.get("alttext") for one in found).replace("\N{MINUS SIGN}", "-")
    assert said.replace("- ", "-").replace(" ", "") == text(formula).replace(" ", "")


def test_numbers_in_place_of_letters_are_not_worked_out():
    filled = Filled(4 * n**2 * d + 8 * n * d**2, {"n": 512, "d": 384})
    assert text(filled) == "4·512²·384 + 8·512·384²"
    assert filled.value == 4 * 512**2 * 384 + 8 * 512 * 384**2
    drawn = elements(filled)
    assert [one.text for one in drawn.iter("mn")] == [
        "4",
        "512",
        "2",
        "384",
        "8",
        "512",
        "384",
        "2",
    ]
    assert not list(drawn.iter("mi"))


def test_what_is_named_by_people_stays_text():
    assert "<b>" not in mathml(symbol("<b>") * 2)
