import re
from contextlib import nullcontext

import pytest
import torch
from benchmarks.counting_cases import CASES
from torch import inference_mode
from torch._subclasses import FakeTensorMode

from attncost.cost.counting.count import count

# What PyTorch runs for jagged tensors on a CPU.
pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype")

# Compiled ones are in tests/unhooked.
EAGER = {name: case for name, case in CASES.items() if not case.compiled}
NESTED, FLEX = "NJT sdpa 128/512/256", "flex window128 eager"
MOVABLE = [name for name in EAGER if name not in (NESTED, FLEX) and "meta" not in name]


@pytest.mark.parametrize("name", EAGER)
def test_counts_are_those_derived_by_hand(name):
    case = EAGER[name]
    module, inputs = case.make()
    with case.grad():
        found = count(module, *inputs, training=case.backward)
    assert (found.useful, found.dense) == (case.useful, case.dense)
    assert not found.at_least
    assert bool(found.at_most) is case.bounded


@pytest.mark.parametrize(
    ("train", "context"),
    [(True, nullcontext), (False, torch.no_grad), (False, inference_mode)],
)
@pytest.mark.parametrize("name", EAGER)
def test_counts_do_not_depend_on_the_mode(name, train, context):
    if name == NESTED and context is inference_mode:
        pytest.skip("PyTorch cannot make jagged tensors in inference mode")
    case = EAGER[name]
    module, inputs = case.make()
    with context():
        found = count(module.train(train), *inputs)
    times = 3 if case.backward else 1
    assert (times * found.useful, times * found.dense) == (case.useful, case.dense)
    assert not found.at_least


@pytest.mark.parametrize("name", EAGER)
def test_counts_do_not_depend_on_the_type(name):
    case = EAGER[name]
    module, inputs = case.make()
    cast = [x.half() if x.is_floating_point() else x for x in inputs]
    with torch.no_grad():
        found = count(module.half(), *cast)
    times = 3 if case.backward else 1
    assert (times * found.useful, times * found.dense) == (case.useful, case.dense)


@pytest.mark.parametrize("name", MOVABLE)
def test_meta_tensors_count_as_real_ones(name):
    case = EAGER[name]
    module, inputs = case.make()
    if hasattr(module, "inner") and hasattr(module.inner, "config"):
        # Without a cache, transformers looks at positions for packed documents.
        module.inner.config.use_cache = True
    found = count(module.to("meta"), *(x.to("meta") for x in inputs))
    times = 3 if case.backward else 1
    assert times * found.dense == case.dense
    # A mask of zeros is a mask where nobody sees that it is all zeros.
    hidden = case.bounded or name in ("window128 dense-mask", "MHA baddbmm")
    assert bool(found.at_most) is hidden
    assert times * found.useful == (case.dense if found.at_most else case.useful)


@pytest.mark.parametrize("name", MOVABLE)
def test_fake_tensors_count_as_real_ones(name):
    case = EAGER[name]
    with FakeTensorMode(allow_non_fake_inputs=True):
        module, inputs = case.make()
        found = count(module, *inputs)
    times = 3 if case.backward else 1
    assert times * found.dense == case.dense
    # Here transformers writes the mask out that it leaves to PyTorch otherwise.
    written = ("window128 dense-mask", "MHA baddbmm", "GPT2 sdpa", "Llama GQA sdpa")
    assert bool(found.at_most) is (case.bounded or name in written)
    assert times * found.useful == (case.dense if found.at_most else case.useful)


@pytest.mark.filterwarnings("ignore:flex_attention called without:UserWarning")
@pytest.mark.parametrize("name", [NESTED, FLEX])
def test_what_pytorch_does_not_run_on_meta_tensors_is_refused_in_its_words(name):
    module, inputs = EAGER[name].make()
    module, inputs = module.to("meta"), [x.to("meta") for x in inputs]
    with pytest.raises((RuntimeError, ValueError), match="device") as theirs:
        module(*inputs)
    with pytest.raises(theirs.type, match=re.escape(str(theirs.value))):
        count(module, *inputs)


def test_pytorch_does_not_nest_fake_tensors():
    module, inputs = EAGER[NESTED].make()
    with FakeTensorMode(allow_non_fake_inputs=True) as fake:
        inputs = [fake.from_tensor(x) for x in inputs]
        with pytest.raises(AssertionError, match="shape_env") as theirs:
            module(*inputs)
        with pytest.raises(theirs.type, match=re.escape(str(theirs.value))):
            count(module, *inputs)


def test_flex_attention_of_fake_tensors_is_exact_where_its_blocks_are_known():
    case = EAGER[FLEX]
    module, inputs = case.make()
    with FakeTensorMode(allow_non_fake_inputs=True) as fake:
        found = count(module, *(fake.from_tensor(x) for x in inputs))
    assert (found.useful, found.dense) == (case.useful, case.dense)
    assert not found.at_most
    with FakeTensorMode():
        module, inputs = case.make()
        found = count(module, *inputs)
    assert found.useful == found.dense == case.dense
    assert found.at_most == ("the blocks of a mask of flex attention are not known.",)
