"""What every formula promises. A new file in `attncost/mechanisms/formulas` is tested unasked."""

import inspect
import re

import pytest
import sympy
from tests.kernels.counted import flops, moved
from tests.mechanisms.formulas import plain
from tests.oracle import random_qkv

from attncost import Dims, Full, ShapeError, mechanisms, patterns
from attncost.core.counts import lengths
from attncost.kernels.interface import priced
from attncost.mechanisms import formulas

FORMULAS = [one for name in formulas.names() for one in formulas.load(name).examples()]
COUNTS = ("useful", "executed", "dense", "elementwise", "bytes")
SIZES = {"batch": 2, "heads": 4, "kv_heads": 2, "length": 300, "head_dim": 8, "value_dim": 5}
# Chunks of a sequence with itself.
ALIKE = ("reformer", "gated_linear")

every_formula = pytest.mark.parametrize("formula", FORMULAS, ids=str)
every_size = pytest.mark.parametrize(
    ("n", "m"), [(1, 1), (64, 64), (129, 129), (40, 150), (150, 40)]
)
every_shape = pytest.mark.parametrize(
    ("heads", "features"), [((4, 4), (8, 8)), ((4, 2), (8, 5))], ids=str
)


def name_of(formula):
    return type(formula).__module__.rpartition(".")[2]


def written(formula):
    return getattr(plain, name_of(formula))


def sized(formula, n, m):
    """Return the lengths that a formula takes."""
    return (n, n) if name_of(formula) in ALIKE else (n, m)


@every_formula
@every_size
@every_shape
def test_executed_is_what_torch_counts_of_a_plain_implementation(
    formula, n, m, heads, features, generator
):
    n, m = sized(formula, n, m)
    qkv = random_qkv(generator, n, m, heads=heads, features=features)
    cost = formula.cost(Dims.of(*(x.shape for x in qkv)))
    given = plain.arguments(formula, *qkv)
    assert flops(lambda: written(formula)(formula, *given)) == cost.executed


@every_formula
@pytest.mark.parametrize("heads", [(4, 4), (4, 2)], ids=str)
@pytest.mark.parametrize(("n", "m"), [(48, 48), (32, 64), (64, 32)])
def test_bytes_are_those_of_all_that_is_multiplied(formula, n, m, heads, generator):
    n, m = sized(formula, n, m)
    features = (4, 8)
    if name_of(formula) == "latent":  # PyTorch fuses as many queries as keys, and equal features
        m, features = n, (8, 8 + formula.rope)
    qkv = [x.detach() for x in random_qkv(generator, n, m, heads=heads, features=features)]
    dims = Dims.of(*(x.shape for x in qkv), itemsize=8)
    given = plain.arguments(formula, *qkv)
    assert moved(lambda: written(formula)(formula, *given), given) == formula.cost(dims).bytes


@every_formula
def test_formula_with_symbols_agrees_with_numbers(formula):
    symbols = Dims.symbolic()
    sizes = SIZES | {"kv_length": sized(formula, 300, 200)[1], "d_model": 32, "itemsize": 2}
    at = {getattr(symbols, name): number for name, number in sizes.items()}
    found, number = formula.cost(symbols), formula.cost(Dims(**sizes))
    for count in COUNTS:
        assert sympy.sympify(getattr(found, count)).subs(at) == getattr(number, count), count


@every_formula
def test_many_lengths_at_once_agree_with_numbers(formula):
    every = lengths(40)
    many = formula.cost(Dims(heads=4, length=every, head_dim=8))
    for count in COUNTS:
        each = [getattr(formula.cost(Dims(heads=4, length=n, head_dim=8)), count) for n in every]
        assert getattr(many, count).tolist() == each, count


@every_formula
def test_steps_add_up_and_nothing_useful_is_left_undone(formula):
    for n in range(70):
        cost = formula.cost(Dims(**SIZES | {"length": n}))
        for count in ("useful", "executed", "dense", "elementwise"):
            assert sum(getattr(step, count) for _, step in cost.steps) == getattr(cost, count)
        assert 0 <= cost.useful <= min(cost.executed, cost.dense)
        assert all(bool(step.useful) != bool(step.elementwise) for _, step in cost.steps if n)


@every_formula
def test_documented_and_sourced(formula):
    said = " ".join(inspect.getdoc(inspect.getmodule(type(formula))).split())
    assert "O(" in said
    assert "Use it when " in said
    assert re.search(r"\bNot (when|for) ", said)
    assert re.search(r"arXiv:\d{4}\.\d{5}", formula.source)


@pytest.mark.parametrize(
    ("name", "power", "left_out"),
    [
        *[("nystrom", 1, ""), ("performer", 1, ""), ("gated_linear", 1, "")],
        *[("top_k", 2, ""), ("latent", 2, ""), ("reformer", 2, ""), ("reformer", 1, "hash")],
    ],
)
def test_it_grows_as_its_paper_says(name, power, left_out):
    """Reformer's paper leaves out the product that hashes, without which it is linear."""

    def flops(n):
        cost = formulas.formula(name).cost(Dims(heads=8, length=n, head_dim=64))
        return sum(step.executed for what, step in cost.steps if what != left_out)

    assert flops(2**41) == pytest.approx(2**power * flops(2**40), rel=1e-6)


def test_top_k_saves_no_more_than_half():
    for n in (1, 64, 65, 10**6):
        dims = Dims(heads=8, length=n, head_dim=64)
        assert (
            formulas.formula("top_k", keys=1).cost(dims).executed > priced(Full(), dims).useful / 2
        )


def test_every_name_means_one_thing():
    names = [*patterns.names(), *mechanisms.names(), *formulas.names()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "parameter", "least"),
    [
        *[("nystrom", "landmarks", 1), ("nystrom", "iterations", 1), ("performer", "features", 1)],
        *[("reformer", "chunk", 1), ("reformer", "rounds", 1), ("latent", "rank", 1)],
        *[("latent", "rope", 0), ("gated_linear", "chunk", 1), ("top_k", "keys", 1)],
    ],
)
def test_a_dial_that_means_nothing_is_refused_in_one_line(name, parameter, least):
    formulas.formula(name, **{parameter: least})
    with pytest.raises(ShapeError) as refused:
        formulas.formula(name, **{parameter: least - 1})
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"{parameter} must be at least {least} (")
    assert line.endswith(f"got {least - 1}.")
