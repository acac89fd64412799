"""The page says what this package says: every whole number exactly, and times to 1e-12."""

import copy
import random
from fractions import Fraction

import pytest
from tests.report.calculator.engine import engine
from tests.report.calculator.states import modelled, python_value, said, situation, state

from attncost.core.errors import UnsupportedOption
from attncost.cost.planning.fit import largest_batch, longest
from attncost.cost.reading import preset, presets
from attncost.patterns.causal import Causal
from attncost.patterns.window import Window
from attncost.report.calculator.attentions import attentions
from attncost.report.calculator.exported import exported
from attncost.report.calculator.model import expressed
from attncost.report.calculator.quantities import QUANTITIES
from attncost.report.calculator.quantity import options

CONFIGURATIONS = 1000
_VALUES = """
  return given.map(([state, names]) => names.map((name) => {
    const { numerator, denominator } = engine.exact(`@${name}`, state)
    return [String(numerator), String(denominator), engine.approximate(`@${name}`)(state)]
  }))
"""
_KNOWN = "return given.map((state) => engine.quantities(state).map(({ name }) => name))"


@pytest.fixture(scope="module")
def ask(browser, tmp_path_factory):
    """Return what evaluates in the page."""
    with engine(browser, exported(), tmp_path_factory.mktemp("engine")) as found:
        yield found


@pytest.mark.slow  # opens a browser, and prices a thousand models twice
def test_a_thousand_random_models_cost_the_same_in_the_page(ask):
    drawn = random.Random(11)
    states = [state(drawn) for _ in range(CONFIGURATIONS)]
    expected = [said(one) for one in states]
    found = ask(_VALUES, [[one, [*told]] for one, told in zip(states, expected, strict=True)])
    compared = 0
    for one, told, values in zip(states, expected, found, strict=True):
        for (name, value), (over, under, about) in zip(told.items(), values, strict=True):
            exactly = Fraction(int(over), int(under))
            if name == "seconds":
                assert float(exactly) == pytest.approx(value, rel=1e-12), (name, one)
            else:
                assert exactly == value, (name, one)
            assert about == pytest.approx(float(exactly), rel=1e-12), (name, one)
            compared += 1
    assert compared > 8 * CONFIGURATIONS


def test_what_memory_is_made_of_is_what_the_plan_lists(ask):
    drawn = random.Random(12)
    states = [state(drawn) for _ in range(50)]
    known = ask(_KNOWN, states)
    for one, names in zip(states, known, strict=True):
        told = said(one)
        zero = {"cache", "logits"}  # a plan leaves out what takes nothing
        parts = {"weights", "gradients", "optimizer", "cache", "activations", "logits"}
        if "memory" in told:
            assert (
                parts & set(told)
                <= parts & set(names)
                <= (parts & set(told))
                | zero
                | {
                    "gradients",
                    "optimizer",
                }
            )
        else:
            assert "memory" not in names


def test_the_longest_that_fits_is_that_of_the_plan(ask):
    drawn = random.Random(13)
    states = []
    while len(states) < 100:
        one = state(drawn)
        one["memory"] = 2 ** drawn.randrange(30, 45)
        if said(one).get("memory"):
            states.append(one)
    script = "return given.map((s) => [engine.longest(s), engine.largestBatch(s)])"
    for one, (tokens, sequences) in zip(states, ask(script, states), strict=True):
        attention = next(a for a in attentions() if a.name == one["attention"]).of(one)
        model, how = modelled(one, attention), situation(one)
        fit = longest(model, how, memory=one["memory"], batch=one["batch"])
        assert (tokens["greatest"], tokens["limit"]) == (fit.greatest, fit.limit), one
        most = largest_batch(model, how, memory=one["memory"], length=one["length"])
        assert (sequences["greatest"], sequences["limit"]) == (most.greatest, most.limit), one


def test_a_changed_formula_is_noticed(browser, tmp_path):
    header = copy.deepcopy(exported())
    header["quantities"]["flops"]["tree"].append(1)
    drawn = random.Random(14)
    one = state(drawn)
    while "flops" not in said(one):
        one = state(drawn)
    with engine(browser, header, tmp_path) as changed:
        ((value, _, _),) = changed(_VALUES, [[one, ["flops"]]])[0]
    assert int(value) == said(one)["flops"] + 1


def test_trees_that_python_evaluates_give_the_same():
    trees = {one.name: one.tree() for one in QUANTITIES}
    words = {name: options(name) for one in QUANTITIES for name in one.over}
    followed = {one["name"]: one["follows"] for one in exported()["attentions"]}
    drawn = random.Random(15)
    for _ in range(20):
        one = state(drawn)
        asked = one | followed[one["attention"]]
        for name, value in said(one).items():
            found = python_value(f"@{name}", asked, trees, words)
            assert float(found) == pytest.approx(float(value), rel=1e-12), (name, one)


@pytest.mark.parametrize("name", [one["name"] for one in exported()["presets"]])
def test_a_preset_of_the_page_costs_what_its_configuration_does(ask, name):
    model, start = preset(name), exported()["start"]
    given = next(one for one in exported()["presets"] if one["name"] == name)["state"]
    shown = start | exported()["plain"] | given
    lengths = (1, 300, 512)
    states = [shown | {"length": n, "work": "training"} for n in lengths]
    found = ask(_VALUES, [[one, ["flops", "attention_flops", "parameters"]] for one in states])
    for n, values in zip(lengths, found, strict=True):
        whole, core, parameters = (int(over) for over, _, _ in values)
        assert whole == model.flops(n, "training")
        assert core == 3 * model.core(n).useful
        assert parameters == model.parameters


def test_what_the_page_cannot_express_is_named_with_the_reason():
    shown = {one["name"] for one in exported()["presets"]}
    refused = {one["name"]: one["reason"] for one in exported()["inexpressible"]}
    assert shown | set(refused) == set(presets())
    assert not shown & set(refused)
    assert "layers of 2 kinds" in refused["gemma-2-9b"]
    assert "Experts" in refused["mixtral-8x7b"]
    with pytest.raises(UnsupportedOption, match="attncost plan"):
        expressed(preset("t5-small"))


def test_a_crossing_is_the_length_from_which_every_one_is_cheaper(ask):
    start = exported()["start"] | {"layers": 1, "width": 300, "tokens": 7, "stride": 50, "size": 96}
    names = ["window", "window-around", "strided", "block", "longformer", "linear", "linformer"]
    script = """
      return given[1].map((name) => engine.crossover(given[0], name, "causal", "attention_flops"))
    """
    found = ask(script, [start, names])
    sizes = {name: start[name] for one in attentions() for name in one.dials}
    model = modelled(start, Causal())
    for name, length in zip(names, found, strict=True):
        cheap = next(one for one in attentions() if one.name == name).of(sizes)
        wins = [model.core(n, cheap).useful < model.core(n).useful for n in range(1, 1001)]
        last = 0 if False not in wins else 1000 - wins[::-1].index(False)
        assert length == (last + 1 if last < 1000 else length), name


def test_attention_takes_over_where_the_configuration_says(ask):
    for name in ("gpt2", "llama-3-8b", "bert-base"):
        given = next(one for one in exported()["presets"] if one["name"] == name)["state"]
        shown = exported()["start"] | exported()["plain"] | given | {"work": "training"}
        found = ask("return engine.takesOver(given)", shown)
        assert found == preset(name).attention_takes_over(limit=1 << 16), name


def test_a_window_is_what_its_spelling_says():
    spelt = {one.name: one.spelling for one in attentions()}
    assert spelt["window-around"] == "window:width={width},ahead={width//2}"
    around = next(one for one in attentions() if one.name == "window-around")
    assert around.of({"width": 9}) == Window(9, ahead=4)
    assert around.dialled(Window(9, ahead=4)) == {"width": 9}
    assert around.dialled(Window(9, ahead=3)) is None
