import pytest
import torch
from benchmarks.counting_cases import CASES
from benchmarks.counting_modules import MultiHead, by_matmul, by_sdpa

from attncost import ShapeError
from attncost.cost.counting.count import count

# Of what torch.compile imports.
pytestmark = pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")

COMPILED = {name: case for name, case in CASES.items() if case.compiled}


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_cases_count_as_they_were_written(name, warm):
    case = COMPILED[name]
    module, inputs = case.make()
    with case.grad():
        if warm:
            module(*inputs)
        found = count(module, *inputs)
    assert (found.useful, found.dense) == (case.useful, case.dense)
    assert not found.at_least
    assert not found.at_most


@pytest.mark.parametrize("attend", [by_matmul, by_sdpa])
def test_names_and_backward_of_a_compiled_module_are_those_of_the_module(attend):
    torch.manual_seed(0)
    module, x = MultiHead(attend), torch.randn(1, 64, 512, requires_grad=True)
    assert count(torch.compile(module), x, training=True) == count(module, x, training=True)


def test_a_compiled_module_stays_compiled():
    module, x = torch.compile(MultiHead(by_sdpa), fullgraph=True), torch.randn(1, 64, 512)
    expected = module(x)
    count(module, x)
    torch._dynamo.config.error_on_recompile = True
    try:
        assert torch.equal(module(x), expected)
    finally:
        torch._dynamo.config.error_on_recompile = False


def test_what_cannot_be_called_is_refused():
    with pytest.raises(ShapeError, match="must be a module or a function, got 3"):
        count(3)
