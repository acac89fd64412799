from dataclasses import replace

import torch
from torch import nn

from attncost.core.cost import Cost
from attncost.cost.counting.counted import Counted, Row
from attncost.cost.difference import Own, difference, owned, parameters_by_module


def linear(size, parameters=0):
    return Own(kind="Linear", parameters=parameters, dense=size, useful=size, executed=size)


def test_a_module_costs_what_it_runs_itself_and_recomputation_is_executed_alone():
    def row(module, phase, flops):
        cost = Cost(useful=flops, executed=flops, dense=flops, elementwise=1, bytes=2)
        return Row(
            module=module, phase=phase, step="weights", operation="aten::mm", calls=1, cost=cost
        )

    counted = Counted(
        name="Model",
        rows=(row("a.b", "forward", 10), row("a.b", "recomputation", 7), row("", "backward", 5)),
        attention=(),
        unpriced=(),
        modules={"": "Model", "a": "Block", "a.b": "Linear", "a.c": "Embedding"},
        parameters=9,
    )
    found = owned(counted, {"a.c": 9})
    assert list(found) == ["", "a.b", "a.c"], "a block of nothing but modules costs nothing itself"
    assert found["a.b"] == Own(
        kind="Linear", dense=10, useful=10, executed=17, elementwise=2, bytes=4
    )
    assert found["a.c"] == Own(kind="Embedding", parameters=9)
    assert found[""].dense == 5


def test_a_shared_parameter_belongs_to_the_first_module_that_has_it():
    model = nn.Sequential(nn.Embedding(7, 3), nn.Linear(3, 7))
    assert parameters_by_module(model) == {"0": 21, "1": 28}
    model[1].weight = model[0].weight
    assert parameters_by_module(model) == {"0": 21, "1": 7}
    assert sum(parameters_by_module(model).values()) == sum(p.numel() for p in model.parameters())


def test_what_compiling_wraps_around_a_module_is_no_part_of_its_name():
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(2, 2))
    model[0] = nn.ModuleDict({"_orig_mod": model[0]})
    assert parameters_by_module(model) == {"0": 6}


def test_equal_modules_are_no_difference():
    one = {"a": linear(3), "b": linear(5)}
    assert difference(one, dict(reversed(one.items()))) == ()


def test_a_module_more_or_less_and_a_change_are_told_apart_dearest_first():
    before = {"a": linear(3), "b": linear(5), "gone": linear(9)}
    after = {"a": linear(4), "b": linear(5), "new": Own(kind="Conv1d", dense=70)}
    new, gone, changed = difference(before, after)
    assert (new.module, new.before, new.after) == ("new", None, after["new"])
    assert (gone.module, gone.before, gone.after) == ("gone", before["gone"], None)
    assert (changed.module, changed.before, changed.after) == ("a", linear(3), linear(4))


def test_another_prefix_is_no_difference_and_a_layer_more_is_named():
    before = {f"bert.layers.{i}.{name}": linear(3) for i in range(2) for name in ("q", "k")}
    after = {f"layers.{i}.{name}": linear(3) for i in range(3) for name in ("q", "k")}
    found = difference(before, after)
    assert [(one.module, one.before) for one in found] == [
        ("layers.2.q", None),
        ("layers.2.k", None),
    ]


def test_modules_of_one_class_are_paired_in_order_only_if_there_are_as_many():
    before = {"wte": Own(kind="Embedding", parameters=3)}
    after = {"embed": Own(kind="Embedding", parameters=4)}
    (change,) = difference(before, after)
    assert (change.module, change.other) == ("wte", "embed")
    more = after | {"positions": Own(kind="Embedding", parameters=5)}
    assert {one.module for one in difference(before, more)} == {"wte", "embed", "positions"}


def test_only_the_fields_that_are_asked_for_are_compared():
    before = {"a": linear(3)}
    after = {"a": replace(linear(3), bytes=8)}
    assert len(difference(before, after)) == 1
    assert difference(before, after, fields=("parameters", "dense", "useful")) == ()
