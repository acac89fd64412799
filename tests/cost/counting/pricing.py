"""A bare watcher of operations, which asks for the price of each and adds up."""

from collections import Counter

from torch.utils._python_dispatch import TorchDispatchMode

from attncost.core.cost import Cost
from attncost.cost.counting.prices import price_for
from attncost.cost.counting.registry import name_of


class Priced(TorchDispatchMode):
    """Adds up the costs of all operations, and notes those without a price."""

    def __init__(self):
        super().__init__()
        self.total, self.unpriced, self.costs = Cost(), Counter(), []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        price = price_for(func)
        if price is None:
            with self:
                found = func.decompose(*args, **kwargs)
            if found is not NotImplemented:
                return found
        out = func(*args, **kwargs)
        if price is None:
            self.unpriced[name_of(func)] += 1
            return out
        given = {name: value for name, value in kwargs.items() if not name.startswith("out")}
        cost = price.formula(*args, out=out, **given)
        self.total += cost
        self.costs.append((name_of(func), price.step, cost))
        return out


def cost_of(call):
    """Return what a call costs; it must have no operation without a price."""
    with Priced() as priced:
        call()
    assert not priced.unpriced
    return priced.total
