import pytest
import torch
from torch import nn

import attncost as ac
from attncost.cost.counting.modes import Operations
from attncost.cost.counting.registry import name_of
from attncost.measure.speed.operation import KEPT
from attncost.measure.speed.record import recorded

FLASH = "aten::_scaled_dot_product_flash_attention_for_cpu"


def names(recording):
    return [one.name for one in recording.operations]


def test_operations_are_seen_with_sizes_and_without_weights():
    layer = nn.Linear(8, 4, device="meta")
    found = recorded(layer, torch.empty(3, 8, device="meta"))
    (product,) = (one for one in found.operations if one.name == "aten::addmm")
    assert [x.shape for x in product.inputs] == [(4,), (3, 8), (8, 4)]
    assert [x.shape for x in product.outputs] == [(3, 4)]
    assert product.cost.executed == 2 * 3 * 8 * 4
    assert product.fresh == (3 * 4 * 4,)


def test_views_are_free_and_own_nothing():
    found = recorded(lambda x: x.view(6).t(), torch.zeros(2, 3))
    assert {one.kind for one in found.operations} == {"free"}
    assert {one.fresh for one in found.operations} == {()}


def test_training_runs_the_way_back():
    layer, x = nn.Linear(8, 4), torch.zeros(3, 8, requires_grad=True)
    forward, both = recorded(layer, x), recorded(layer, x, training=True)
    assert names(both)[: len(forward.operations)] == names(forward)
    assert names(both).count("aten::mm") == 2
    assert layer.weight.grad is None


@pytest.mark.parametrize("name", ["fixed", "bigbird", "window", "longformer"])
def test_our_own_kernels_leave_out_nothing_that_a_real_call_runs(name):
    q = torch.zeros(1, 2, 700, 8)
    seen = []

    def count(func, args, kwargs):
        seen.append(name_of(func))
        return func(*args, **kwargs)

    def call(q):
        return ac.attention(q, q, q, ac.pattern(name), kernel="folded")

    with torch.inference_mode():
        with Operations(count):
            call(q)
        assert names(recorded(call, q)).count(FLASH) == seen.count(FLASH) > 1


def test_a_tensor_is_as_far_away_as_what_was_touched_since_in_a_call_like_it():
    weight, other = torch.zeros(16, 16), torch.zeros(16, 16)

    def call(x):
        return (x @ weight) @ other

    first, second = (
        one for one in recorded(call, torch.zeros(16, 16)).operations if one.name == "aten::mm"
    )
    kilobyte = 16 * 16 * 4
    # The input was read by the first product of the call before; since then came its weight and
    # its result, and three tensors of the second.
    assert first.far == ((kilobyte, 5 * kilobyte), (kilobyte, 4 * kilobyte))
    assert second.far[0] == (kilobyte, 0)
    assert (first.since, second.since) == (0, 0)
    assert second.before == 3 * kilobyte


def test_the_heap_holds_what_is_live_at_once_and_large_blocks_are_mapped():
    def call(x):
        y = x + 1
        return (y + 1).sum()

    found = recorded(call, torch.zeros(1000))
    assert 2 * 4000 <= found.heap <= 2 * 4000 + 64
    assert (found.mapped, found.widest) == (0, 4000)
    large = torch.empty(KEPT // 4, device="meta")
    assert recorded(lambda x: x + 1, large).mapped == KEPT


def test_rows_of_a_table_are_touched_and_not_the_whole_table():
    table = nn.Embedding(10_000, 4)
    found = recorded(table, torch.zeros(2, dtype=torch.long))
    (lookup,) = (one for one in found.operations if one.name == "aten::embedding")
    assert max(size for size, _ in lookup.far) < 1000
