import pytest
import torch

import attncost as ac
from attncost.core.options import Options
from attncost.kernels.choose import chosen, every
from attncost.kernels.rates import RATES, Rates, in_force, rates_of, using

SLOW = {"folded": Rates(start=1e12, call=1e12, flop=1.0, mask=1.0)}


def choice(pattern):
    q = torch.zeros(1, 2, 2048, 16)
    kernel = chosen(q, q, q, pattern, Options(), "auto")
    return next(name for name, one in every().items() if one is kernel)


def test_measured_rates_change_the_choice_and_are_forgotten_afterwards():
    window = ac.pattern("window", width=64)
    assert choice(window) == "folded"
    with using(SLOW):
        assert choice(window) == "sdpa"
        assert choice(window) == "sdpa"
    assert choice(window) == "folded"


def test_a_choice_made_by_one_table_is_not_remembered_for_another():
    window = ac.pattern("window", width=32)
    with using(SLOW):
        assert choice(window) == "sdpa"
    with using({}):
        assert choice(window) == "folded"


def test_tables_are_restored_after_an_error_and_may_be_nested():
    before = in_force()
    fast = {"folded": Rates(start=0.0, call=0.0, flop=0.0, mask=0.0)}
    with using(SLOW):
        with using(fast):
            assert rates_of("folded") == fast["folded"]
        assert rates_of("folded") == SLOW["folded"]
        assert rates_of("sdpa") == RATES["sdpa"]
    with pytest.raises(ZeroDivisionError), using(SLOW):
        in_force() // 0
    assert in_force() == before
    assert rates_of("folded") == RATES["folded"]
