"""Numbers of heads are those of their queries on average, and ranks those of known matrices."""

import math

import pytest
import torch
from tests.view.statistics.test_exactness import drawn

from attncost import Causal, Full, ShapeError, Window
from attncost.view.statistics.gauges import Gauges
from attncost.view.statistics.statistics import statistics
from attncost.view.statistics.summaries import head_summaries, reach

MEANS = ("entropy", "largest", "distance", "on_first", "on_self", "on_previous", "negligible")


def test_means_are_those_of_the_queries_that_count():
    q, k, v = drawn(60, 50)
    marks = torch.rand(2, 60, generator=torch.Generator().manual_seed(0)) > 0.5
    padded = torch.arange(50).expand(2, -1) > 40
    found = statistics(q, k, v, Causal(), query_mask=marks, padded=padded)
    summary = head_summaries(found)
    for name in (*MEANS, "on_padded"):
        for b in range(2):
            counted = marks[b] & (torch.arange(60) >= 10)
            mean = getattr(found, name)[b][:, counted].mean(1)
            torch.testing.assert_close(getattr(summary, name)[b], mean)
    assert summary.within.shape == (2, 4, 4)
    assert (summary.within[..., -1] > 0.99).all()


def test_a_head_of_which_no_query_counts_is_0():
    found = statistics(*drawn(9, 9), query_mask=torch.zeros(2, 9, dtype=torch.bool))
    summary = head_summaries(found)
    assert all(not getattr(summary, name).any() for name in (*MEANS, "within", "effective_rank"))
    assert not reach(found).any()


def test_a_row_that_is_not_finite_does_not_spoil_its_head():
    q, k, v = drawn(9, 9)
    q[:, :, 4] = math.nan
    summary = head_summaries(statistics(q, k, v))
    assert all(getattr(summary, name).isfinite().all() for name in (*MEANS, "effective_rank"))


@pytest.mark.parametrize(
    ("pattern", "rank"), [(Full(), 1.0), (Window(1), 16.0)], ids=["all alike", "each its own"]
)
def test_effective_rank_counts_directions(pattern, rank):
    q = k = torch.zeros(1, 1, 64, 8)
    found = statistics(q, k, pattern=pattern, gauges=Gauges(map_size=16))
    torch.testing.assert_close(head_summaries(found).effective_rank, torch.tensor([[rank]]))


def test_effective_rank_is_that_of_its_definition():
    found = statistics(*drawn(60, 60), Causal())
    values = torch.linalg.svd(found.map.double())[1]
    share = values / values.sum(-1, keepdim=True)
    rank = (-(share * share.log()).sum(-1)).exp()
    torch.testing.assert_close(
        head_summaries(found).effective_rank.double(), rank, rtol=1e-5, atol=0
    )


@pytest.mark.parametrize("mass", [0.3, 0.95, 1.0])
def test_reach_is_the_smallest_distance_with_that_mass(mass):
    found = statistics(*drawn(90, 90), Causal(), sink=torch.zeros(4))
    for b in range(2):
        for h in range(4):
            masses, total, distance = found.by_distance[b, h].double(), 0.0, -1
            while total < mass * float(masses.sum()) - 1e-12:
                distance += 1
                total += float(masses[distance])
            assert int(reach(found, mass)[b, h]) == distance


def test_reach_of_a_window_is_the_window():
    q = k = torch.zeros(1, 1, 500, 8)
    assert int(reach(statistics(q, k, pattern=Window(100)), mass=1.0)) == 99


@pytest.mark.parametrize("mass", [0.0, 1.5])
def test_a_mass_is_a_share(mass):
    with pytest.raises(ShapeError, match="mass must lie in"):
        reach(statistics(*drawn(5, 5)), mass)


def test_no_queries_and_no_keys_have_summaries_too():
    for n, m in ((0, 5), (5, 0), (0, 0)):
        found = statistics(*drawn(n, m))
        assert not head_summaries(found).effective_rank.any()
        assert not reach(found).any()
