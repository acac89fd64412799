import pytest
import sympy

from attncost import Window
from attncost.core.counts import ceil_div, counted, larger, smaller, symbol
from attncost.core.formula import for_long, latex, order, same, text

n, d, h, w = (symbol(name) for name in "ndhw")


@pytest.mark.parametrize(
    ("formula", "written"),
    [
        (4 * d * n**2 + 8 * d**2 * n, "4·n²·d + 8·n·d²"),
        (n * (n + 1) / 2 * h, "½·h·n·(n + 1)"),
        (sympy.Rational(5, 2) * n, "(5/2)·n"),
        (33 * n - 272, "33·n - 272"),
        (65_536, "65,536"),
        (larger(0, n - 256) ** 2, "max(0, n - 256)²"),
        ((n + 1) ** 12, "(n + 1)¹²"),
        (ceil_div(n, 128) * d, "d·⌈(1/128)·n⌉"),
    ],
)
def test_a_formula_reads_like_a_paper(formula, written):
    assert text(formula) == written


def test_latex_can_be_read_back_to_the_same_formula():
    assert latex(2 * d * n**2) == r"2 \, n^{2} \, d"
    assert latex(sympy.Rational(1, 2) * n * (n + 1)) == r"\frac{1}{2} \, n \, (n + 1)"
    assert latex(65_536 * n) == r"65{,}536 \, n"


@pytest.mark.parametrize(
    ("formula", "grows"),
    [
        (4 * n**2 * d + 8 * n * d**2 + 7 * n * d, "n²·d + n·d²"),
        (Window(33, ahead=16).pairs(n, n) * d, "n·d"),
        (smaller(n, 256) * n * h, "h·n"),
        (ceil_div(n, 128) * 128 * 64, "n"),
        (12_345, "1"),
    ],
)
def test_order_keeps_the_leading_terms(formula, grows):
    assert text(order(formula)) == grows


def test_a_bend_gives_way_to_the_branch_that_remains():
    exact = Window(64, ahead=3).pairs(n, n)
    assert all(for_long(exact).subs(n, at) == exact.subs(n, at) for at in (64, 200, 5000))
    assert for_long(n * (n + 1)) == n**2 + n
    assert same(for_long(n * (n + 1)), n * (n + 1))
    assert text(for_long(Window(1).pairs(n, n))) == "n"
    assert for_long(larger(w * n, h * n)) == larger(w * n, h * n), "unknown which is greater"


def test_what_is_counted_keeps_its_name():
    node = counted(Window(2), n, n)
    assert text(3 * node).startswith("3·pairs[window")
