"""What statistics refuse, without the hook that would refuse it first."""

import pytest
import torch

from attncost import ShapeError, UnknownName, UnsupportedOption
from attncost.view.statistics.statistics import statistics


def drawn(n, m):
    return torch.randn(2, 4, n, 8), torch.randn(2, 2, m, 8), torch.randn(2, 2, m, 5)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"query_mask": torch.ones(2, 5)},
            r"query_mask must be boolean of shape \(batch, length\)",
        ),
        ({"query_mask": torch.ones(2, 6, dtype=torch.bool)}, r"= \(2, 5\), got torch.bool of .*6"),
        ({"padded": torch.ones(2, 5, dtype=torch.bool)}, r"\(batch, kv_length\) = \(2, 7\)"),
        ({"padded": [True]}, "got a list"),
        ({"bias": torch.zeros(5, 7)}, "bias must have the axes"),
        ({"pattern": "causal"}, "pattern must be a pattern"),
        ({"v": torch.zeros(2, 2, 6, 5)}, "length"),
        ({"gauges": 3}, r"gauges must be attncost.Gauges, .* got a int"),
        ({"q": [1]}, "q must be a tensor, got a list"),
        ({"q": torch.zeros(2, 4, 5, 8, device="meta")}, "on one device"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(asked, message):
    q, k, v = drawn(5, 7)
    with pytest.raises(ShapeError, match=message) as refusal:
        statistics(**{"q": q, "k": k, "v": v, **asked})
    assert "\n" not in str(refusal.value)


def test_there_must_be_numbers_to_look_at():
    q, k, v = (x.to("meta") for x in drawn(5, 7))
    with pytest.raises(ShapeError, match="numbers to look at, got a tensor on the meta device"):
        statistics(q, k, v)


def test_dropout_is_refused():
    with pytest.raises(UnsupportedOption, match=r"got dropout_p = 0\.5: leave it out"):
        statistics(*drawn(5, 7), dropout_p=0.5)
    statistics(*drawn(5, 7), dropout_p=0.0)


@pytest.mark.parametrize("name", ["dropout", "seed", "softcaps"])
def test_an_option_that_is_none_is_named(name):
    with pytest.raises(UnknownName, match=f"no option of statistics is called '{name}'.*softcap"):
        statistics(*drawn(5, 7), **{name: 0.1})
