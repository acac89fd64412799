"""Attention over sequences of different lengths, against each sequence by itself."""

import pytest
import torch
from tests.cost.counting.met import Met
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.nested import narrow, nested_tensor, nested_tensor_from_jagged
from torch.nn.functional import scaled_dot_product_attention as sdpa
from torch.utils.flop_counter import FlopCounterMode

from attncost.cost.counting.apis.sdpa import ScaledDotProductAttention

API = ScaledDotProductAttention()

# The strided layout warns that it is a prototype.
pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")


def read(*args, **kwargs):
    (call,) = API.read(*args, **kwargs)
    return call


def random_lengths(generator, sequences):
    return torch.randint(1, 7, (sequences,), generator=generator).tolist()


def jagged(lengths, heads, features, offsets=None):
    """Return random (b, heads, ragged, features) as attention takes it."""
    if offsets is None:
        offsets = torch.tensor([0, *lengths]).cumsum(0)
    return nested_tensor_from_jagged(torch.randn(sum(lengths), heads, features), offsets).transpose(
        1, 2
    )


def strided(lengths, heads, features):
    return nested_tensor([torch.randn(heads, length, features) for length in lengths])


def by_hand(q, k, v):
    return torch.matmul(torch.matmul(q, k.transpose(-2, -1)).softmax(-1), v)


def flops_of_each(q, k, v, *, backward=False):
    """Return what torch counts if every sequence runs by itself, as products."""
    with FlopCounterMode(display=False) as counter:
        for one in zip(q.unbind(), k.unbind(), v.unbind(), strict=True):
            out = by_hand(*(x.detach().requires_grad_(backward) for x in one))
            if backward:
                out.sum().backward()
    return counter.get_total_flops()


@pytest.mark.parametrize("layout", [jagged, strided])
def test_pairs_are_those_of_every_sequence_by_itself(layout, generator):
    for _ in range(40):
        lengths, keys = random_lengths(generator, 4), random_lengths(generator, 4)
        q, k, v = layout(lengths, 3, 8), layout(keys, 3, 8), layout(keys, 3, 5)
        call = read(q, k, v)
        assert call.forward().useful == call.forward().executed == flops_of_each(q, k, v)
        assert call.dense == 4 * 3 * max(lengths) * max(keys)
        assert call.unknown is None
        moved = sum(3 * n * (8 + 5) + 3 * m * (8 + 5) for n, m in zip(lengths, keys, strict=True))
        assert call.bytes == 4 * moved


def test_what_is_read_is_what_really_runs(generator):
    lengths = random_lengths(generator, 3)
    for layout in (jagged, strided):
        x = layout(lengths, 2, 8)
        for one, of_all in zip(x.unbind(), sdpa(x, x, x).unbind(), strict=True):
            torch.testing.assert_close(sdpa(one, one, one), of_all)


def test_backward_is_that_of_every_sequence_by_itself():
    lengths, keys = [4, 1, 6], [2, 5, 3]
    q, k, v = (
        jagged(n, 2, d).detach().requires_grad_() for n, d in ((lengths, 8), (keys, 8), (keys, 5))
    )
    call = read(q, k, v)
    both = flops_of_each(q, k, v, backward=True)
    assert call.learns == (True, True, True)
    assert call.forward().executed + call.backward().executed == both
    with torch.no_grad():
        assert read(q, k, v).learns == (False, False, False)
    assert read(q, k.detach(), v.detach()).learns == (True, False, False)


@pytest.mark.parametrize("layout", [jagged, strided])
def test_a_causal_call_reads_a_triangle_of_every_sequence(layout):
    x = layout([3, 1, 5], 2, 8)
    call = read(x, x, x, is_causal=True)
    assert call.useful == 2 * (6 + 1 + 15)
    assert call.executed == 2 * (9 + 1 + 25)


def test_the_batch_of_the_comparison_counts_as_derived_by_hand():
    """Eight heads of 64 over 128, 512 and 256 tokens."""
    x = jagged([128, 512, 256], 8, 64)
    cost = read(x, x, x).forward()
    assert cost.useful == cost.executed == 4 * 512 * (128**2 + 512**2 + 256**2) == 704_643_072
    assert cost.dense == 4 * 512 * 3 * 512**2 == 1_610_612_736


def test_a_sequence_without_tokens_reads_nothing():
    x = jagged([0, 3], 2, 8)
    assert read(x, x, x).useful == 2 * 9


def test_holes_between_sequences_are_no_tokens():
    rows = torch.randn(2, 6, 2, 8)
    x = narrow(rows, 1, torch.tensor([0, 1]), torch.tensor([3, 4]), layout=torch.jagged)
    call = read(*[x.transpose(1, 2)] * 3)
    assert call.useful == 2 * (9 + 16)
    assert call.bytes == 4 * 4 * (2 * 8 * (3 + 4))


def test_axes_before_the_last_two_are_heads_ragged_or_not():
    x = nested_tensor_from_jagged(torch.randn(5, 3, 8), torch.tensor([0, 1, 5]))
    q = x.detach().requires_grad_()
    assert sdpa(x, x, x).shape[2:] == (3, 8)
    call = read(q, q, q)
    assert call.useful == (1 + 4) * 3 * 3
    assert call.dense == 2 * 4 * 3 * 3


@pytest.mark.parametrize("longest", [None, 7])
def test_unknown_lengths_leave_a_bound_and_a_reason(longest):
    lengths = [2, 7, 3]
    values, offsets = torch.randn(12, 2, 8), torch.tensor([0, *lengths]).cumsum(0)
    known = nested_tensor_from_jagged(values, offsets).transpose(1, 2)
    exact = read(known, known, known)
    with FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True) as fake:
        x = nested_tensor_from_jagged(
            fake.from_tensor(values), fake.from_tensor(offsets), max_seqlen=longest
        ).transpose(1, 2)
        call = read(x, x, x)
    assert call.unknown == "the lengths of nested sequences of class FakeTensor are unknown"
    assert exact.useful <= call.useful <= call.dense
    assert exact.dense <= call.dense
    assert call.useful == 2 * 12 * (longest or 12)
    assert call.bytes == exact.bytes
    x = nested_tensor_from_jagged(values.to("meta"), offsets.to("meta")).transpose(1, 2)
    where = "the lengths of nested sequences on the meta device are unknown"
    assert read(x, x, x).unknown == where


def test_what_torch_refuses_is_left_to_torch():
    x, other = jagged([2, 3], 2, 8), jagged([2, 3, 1], 2, 8)
    dense = torch.randn(2, 2, 3, 8)
    for args in ((x, dense, dense), (dense, x, x), (x, other, other), (x, jagged([2, 3], 2, 4), x)):
        assert API.read(*args) is None
        with pytest.raises((RuntimeError, ValueError)):
            sdpa(*args)


def test_the_call_is_met_where_it_is_made():
    x = jagged([4, 2], 2, 8)
    with Met(API) as met:
        sdpa(x, x, x)
    assert [call.useful for call in met.calls] == [2 * (16 + 4)]
