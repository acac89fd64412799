import pytest
import torch
from torch import nn

import attncost as ac
from attncost.cost.counting import registry
from attncost.cost.counting.count import count


@pytest.fixture(scope="module", autouse=True)
def hidden():
    def hidden(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return x @ weight

    operation = torch.library.custom_op("attncost_tests::hidden", hidden, mutates_args=())
    operation.register_fake(lambda x, weight: x.new_empty(x.shape[0], weight.shape[1]))


class Hides(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.out = nn.Parameter(torch.randn(4, 6)), nn.Linear(6, 2)

    def forward(self, x):
        return self.out(torch.ops.attncost_tests.hidden(x, self.weight))


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Hides()

    def forward(self, x):
        return self.part(self.part(x).repeat(1, 2))


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_product_in_an_operation_of_ones_own_is_listed(device):
    found = count(Whole().to(device), torch.randn(3, 4).to(device))
    (row,) = found.unpriced
    assert (row.module, row.operation, row.calls) == ("part", "attncost_tests::hidden", 2)
    assert row.shapes == ((3, 4), (4, 6))
    assert found.at_least
    assert found.dense == 2 * 2 * 3 * 6 * 2


def test_a_formula_of_ones_own_prices_it(monkeypatch):
    monkeypatch.setattr(registry, "_PRICES", dict(registry._PRICES))

    @registry.price("attncost_tests::hidden", step="hidden")
    def hidden(x, weight, *, out):
        assert out.shape == (3, 6)
        return ac.Cost.product(x.shape[0], x.shape[1], weight.shape[1])

    found = count(Whole(), torch.randn(3, 4))
    assert not found.at_least
    assert found.by_step["hidden"].dense == 2 * 2 * 3 * 4 * 6


def test_a_formula_is_named_by_its_operation():
    operation = torch.ops.attncost_tests.hidden
    assert registry.name_of(operation) == registry.name_of(operation.default)
    with pytest.raises(ac.ShapeError, match=r"must be torch\.ops\.library\.name"):
        registry.price("hidden")
