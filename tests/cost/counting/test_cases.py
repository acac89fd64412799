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
# The sizes of nested tensors are numbers in a tensor, and a mask function is called on indices of
# its own device.
REAL = ("NJT", "flex", "meta")
MOVABLE = [name for name in EAGER if not name.startswith(REAL[:2]) and "meta" not in name]


@pytest.mark.parametrize("name", EAGER)
def test_counts_are_those_derived_by_hand(name):
    case = EAGER[name]
    module, inputs = case.make()
    with case.grad():
        found = count(module, *inputs, training=case.backward)
    assert (found.useful, found.dense) == (case.useful, case.dense)
    assert not found.at_least
    assert not found.at_most


@pytest.mark.parametrize(
    ("train", "context"),
    [(True, nullcontext), (False, nullcontext), (False, torch.no_grad), (False, inference_mode)],
)
@pytest.mark.parametrize("name", EAGER)
def test_counts_do_not_depend_on_the_mode(name, train, context):
    if name.startswith("NJT") and context is inference_mode:
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
    assert bool(found.at_most) == (name == "window128 dense-mask")
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
    assert bool(found.at_most) == (name in ("window128 dense-mask", "GPT2 sdpa", "Llama GQA sdpa"))
    assert times * found.useful == (case.dense if found.at_most else case.useful)
