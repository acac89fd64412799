"""Every span works for the module that it should: forward by nesting, backward by number."""

from tests.measure.attribution.spans import STEP, module, node, span, summed

from attncost.measure.attribution.kinds import ATTENTION, LINEAR
from attncost.measure.attribution.places import ELSEWHERE, ENGINE, NODE, OUTSIDE, places
from attncost.measure.attribution.spans import BACKWARD, ROUND, nest


def placed(spans):
    nested = nest(spans)
    return {one.span.name: place for one, place in zip(nested, places(nested), strict=True)}


def test_a_node_works_for_the_module_whose_forward_pass_drew_its_number():
    found = placed(STEP)
    assert found["aten::addmm"].modules == ("", "one")
    assert not found["aten::addmm"].backward
    for name in ("AddmmBackward0", "aten::mm", "TBackward0"):
        assert found[name].modules == ("", "one")
        assert found[name].backward
    assert found["aten::zeros"].modules == ("", "two")


def test_what_works_for_no_module_says_why():
    found = placed(STEP)
    assert (found["aten::sum"].modules, found["aten::sum"].reason) == ((), ENGINE)
    assert (found["SumBackward0"].modules, found["SumBackward0"].reason) == ((), OUTSIDE)
    assert found[ROUND].reason == OUTSIDE
    assert placed([span("aten::mm", 0, 1, thread=3)])["aten::mm"].reason == ELSEWHERE


def test_the_sum_of_a_gradient_goes_where_the_node_before_it_went():
    found = placed(STEP)[f"{NODE}torch::autograd::AccumulateGrad"]
    assert (found.modules, found.backward, found.kind) == (("", "one"), True, "")


def test_a_sum_without_a_node_before_it_is_the_backward_pass_itself():
    alone = [span(ROUND, 0, 9), span(BACKWARD, 1, 8), *summed("AccumulateGrad", 2, 3)]
    found = placed(alone)[f"{NODE}AccumulateGrad"]
    assert (found.modules, found.reason) == ((), ENGINE)


def test_the_kind_of_work_is_that_of_the_outermost_operator_that_tells():
    found = placed(STEP)
    assert found["aten::t"].kind == LINEAR, "inside of aten::linear"
    assert found["aten::zeros"].kind == ATTENTION, "inside of the gradient of attention"
    assert found["aten::sum"].kind == ""
    assert found["TBackward0"].kind == LINEAR, "undoes a part of aten::linear"


def test_a_node_of_another_thread_goes_by_the_numbers_of_the_thread_that_made_it():
    found = placed(
        [
            module("left", 0, 10, thread=1),
            span("aten::mm", 1, 9, thread=1, sequence=3),
            module("right", 0, 10, thread=2),
            span("aten::bmm", 1, 9, thread=2, sequence=3),
            *node("BmmBackward0", 20, 30, number=3, thread=8, forward=2),
            *node("MmBackward0", 31, 40, number=3, thread=8, forward=1),
        ]
    )
    assert found["BmmBackward0"].modules == ("right",)
    assert found["MmBackward0"].modules == ("left",)


def test_a_module_that_the_backward_pass_runs_again_is_backward():
    found = placed(
        [
            span(ROUND, 0, 100),
            module("layer", 0, 10),
            span("CheckpointFunction", 1, 9, sequence=1),
            span(BACKWARD, 20, 90),
            *node("CheckpointFunctionBackward", 21, 80, number=1),
            module("layer.inner", 30, 60),
            span("aten::exp", 31, 40, sequence=2),
            *node("ExpBackward0", 61, 70, number=2),
        ]
    )
    assert found["aten::exp"].modules[-1] == "layer.inner"
    assert found["aten::exp"].backward
    assert found["ExpBackward0"].modules[-1] == "layer.inner"
