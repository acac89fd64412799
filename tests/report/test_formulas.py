"""Formulas of models: with their numbers they come to what the sizes cost."""

import pytest

from attncost.core.counts import symbol
from attncost.core.formula import Filled
from attncost.cost.reading import preset, presets
from attncost.integrations.sizes import sized
from attncost.report.formulas import formulas
from attncost.report.lettered import lettered
from attncost.report.priced import takes_over

LENGTH = 197  # all that ViT takes


@pytest.mark.parametrize("name", presets())
def test_a_model_of_letters_costs_with_its_numbers_what_the_model_costs(name):
    model = preset(name)
    letters, n = lettered(model), symbol("n")
    values = {**letters.values, "n": LENGTH}
    for formula, expected in (
        (letters.model.core(n).useful, model.core(LENGTH).useful),
        (letters.model.linear(n).useful, model.linear(LENGTH).useful),
        (letters.model.parameters, model.parameters),
        (letters.model.cached(n), model.cached(LENGTH)),
    ):
        assert Filled(formula, values).value == expected


@pytest.mark.parametrize("name", ["demo", "llama-3-8b", "mixtral-8x7b", "layer"])
def test_the_parts_of_a_section_add_up(name):
    model = sized(name).configuration
    over = takes_over(model)
    section = formulas(model, length=LENGTH, over=over, command="c")
    tables = {table.title.partition(" ")[0]: table for table in section.blocks}
    assert tables["FLOPs"].rows[-1][3] == model.cost(LENGTH).useful
    assert tables["Numbers"].rows[-1][3] == model.parameters
    for table in (tables["FLOPs"], tables["Numbers"]):
        for _, formula, filled, value in table.rows[:-1]:
            assert filled.formula == formula
            assert filled.value == value
    if model.caches and name != "layer":
        assert tables["What"].rows[0][3] == 2 * model.cached(LENGTH)
    (crossing,) = tables["Where"].rows
    ratio = float(crossing[1].subs({symbol(k): v for k, v in crossing[2].values.items()}))
    assert ratio <= crossing[3] == over < ratio + 2


def test_equal_sizes_share_a_letter_and_others_do_not():
    letters = lettered(preset("deepseek-v3")).values
    assert (letters["f"], letters["f_2"]) == (18_432, 2_048)
    assert lettered(preset("llama-2-7b")).values.keys() == {"d", "h", "f", "l", "v"}
