"""Calls of PyTorch's fused attention as they are read, against what it really computes."""

import math
from itertools import product

import pytest
import torch
from tests.cost.counting.met import Met
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from torch.nn.functional import scaled_dot_product_attention as sdpa
from torch.utils.flop_counter import FlopCounterMode

from attncost.cost.counting.apis.sdpa import ScaledDotProductAttention

API = ScaledDotProductAttention()
SUBSETS = [learns for learns in product((True, False), repeat=3) if any(learns)]


def read(*args, **kwargs):
    (call,) = API.read(*args, **kwargs)
    return call


def some(generator, high):
    return int(torch.randint(1, high + 1, (), generator=generator))


def random_shapes(generator):
    """Return shapes of q, k and v: shared heads, sequences of their own or shared by all."""
    b, g, group, n, m, d, e = (some(generator, high) for high in (3, 3, 3, 6, 6, 5, 5))
    grouped = bool(some(generator, 2) - 1)
    h = g * group if grouped else g
    shared = [1 if some(generator, 3) == 1 else b for _ in range(2)]
    heads = g if grouped or some(generator, 2) == 1 else 1
    return (b, h, n, d), (shared[0], heads, m, d), (shared[1], heads, m, e), grouped


def by_hand(q, k, v):
    """Return attention as two products, which torch counts rightly."""
    group = max(q.shape[1] // k.shape[1], 1)
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    return torch.matmul(torch.matmul(q, k.transpose(-2, -1)).softmax(-1), v)


def counted(run):
    with FlopCounterMode(display=False) as counter:
        result = run()
    return result, counter.get_total_flops()


def weights(q, k, **options):
    """Return the weights that the real function gives: what it makes of one-hot values."""
    m = k.shape[-2]
    return sdpa(q, k, torch.eye(m).expand(*k.shape[:-1], m), **options)


def test_dense_is_what_torch_counts_of_two_products_for_any_sizes(generator):
    for _ in range(200):
        q_shape, k_shape, v_shape, grouped = random_shapes(generator)
        q, k, v = (torch.randn(shape, generator=generator) for shape in (q_shape, k_shape, v_shape))
        call = read(q, k, v, enable_gqa=grouped)
        cost, (out, flops) = call.forward(), counted(lambda: by_hand(q, k, v))  # noqa: B023
        assert cost.dense == cost.useful == cost.executed == flops, (q_shape, k_shape, v_shape)
        assert out.shape == sdpa(q, k, v, enable_gqa=grouped).shape
        assert call.bytes == 4 * sum(x.numel() for x in (q, k, v, out))
        assert cost.elementwise == 5 * flops // (2 * (q_shape[-1] + v_shape[-1]))


@pytest.mark.parametrize("learns", SUBSETS)
def test_backward_is_what_torch_counts_of_the_products_for_any_gradients(learns, generator):
    for _ in range(12):
        *shapes, grouped = random_shapes(generator)
        q, k, v = (
            torch.randn(shape, generator=generator).requires_grad_(learn)
            for shape, learn in zip(shapes, learns, strict=True)
        )
        call = read(q, k, v, enable_gqa=grouped)
        asked = [x for x in (q, k, v) if x.requires_grad]
        out = by_hand(q, k, v)
        _, flops = counted(lambda: torch.autograd.grad(out.sum(), asked))  # noqa: B023
        assert call.learns == learns
        assert call.backward().executed == call.backward().dense == flops
        assert call.again().executed == call.dense * 2 * q.shape[-1]


def test_a_learned_bias_needs_the_gradient_of_the_scores():
    q, k, v = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 6)
    bias = torch.zeros(3, 5, requires_grad=True)
    call = read(q, k, v, bias)
    out = torch.matmul((torch.matmul(q, k.transpose(-2, -1)) + bias).softmax(-1), v)
    _, flops = counted(lambda: torch.autograd.grad(out.sum(), bias))
    assert call.learns == (False, False, False)
    assert call.backward().executed == flops == 2 * 2 * 3 * 5 * 6


def test_nothing_learns_where_no_gradient_can_be_asked_for():
    q = torch.zeros(1, 2, 3, 4, requires_grad=True)
    bias = torch.zeros(3, 3, requires_grad=True)
    for surroundings in (torch.no_grad, torch.inference_mode):
        with surroundings():
            call = read(q, q, q, bias)
        assert call.learns == (False, False, False)
        assert call.backward().executed == call.again().executed == 0
    assert read(q, q.detach(), q, bias).learns == (True, False, True)


def test_a_pair_counts_as_read_where_the_real_function_gives_it_a_weight(generator):
    for _ in range(100):
        *shapes, grouped = random_shapes(generator)
        q, k = (torch.randn(shape, generator=generator) for shape in shapes[:2])
        n, m = q.shape[-2], k.shape[-2]
        lead = [int(size) if some(generator, 2) == 1 else 1 for size in q.shape[:-2]]
        mask = torch.rand(*lead, n, m, generator=generator) < 0.6
        added = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
        v = torch.eye(m).expand(*k.shape[:-1], m)
        # A row that is all hidden reads nothing, and has no weight.
        for options in ({"attn_mask": mask}, {"attn_mask": added}, {"is_causal": True}):
            given = weights(q, k, **options, enable_gqa=grouped)
            call = read(q, k, v, **options, enable_gqa=grouped)
            assert call.useful == int((given > 0).sum()), (shapes, options)
            assert call.executed == call.dense == given.numel()
            assert call.unknown is None


@pytest.mark.parametrize(("n", "m"), [(4, 4), (3, 7), (7, 3)])
def test_a_mask_beside_the_causal_one_hides_as_well(n, m, generator):
    """Only the kernel for CPUs takes both, and only for values as wide as keys."""
    q, k = (torch.randn(2, 2, length, m, generator=generator) for length in (n, m))
    mask = torch.rand(n, m, generator=generator) < 0.7
    given = weights(q, k, attn_mask=mask, is_causal=True)
    assert read(q, k, k, mask, 0.0, True).useful == int((given > 0).sum())


@pytest.mark.filterwarnings("ignore:Lower right causal bias")
@pytest.mark.parametrize(("n", "m"), [(4, 4), (3, 7), (7, 3), (1, 5)])
@pytest.mark.parametrize("bias", [causal_upper_left, causal_lower_right])
def test_a_causal_bias_of_torch_is_read_by_its_kind(bias, n, m):
    q, k = torch.randn(2, 2, n, 4), torch.randn(2, 2, m, 4)
    call = read(q, k, k, attn_mask=bias(n, m))
    assert call.useful == int((weights(q, k, attn_mask=bias(n, m)) > 0).sum())


@pytest.mark.parametrize(
    ("shapes", "grouped"),
    [
        (((5, 4), (7, 4), (7, 6)), False),
        (((2, 5, 4), (2, 7, 4), (2, 7, 6)), False),
        (((2, 5, 4), (1, 7, 4), (1, 7, 6)), False),
        (((2, 3, 4, 5, 4), (2, 3, 4, 7, 4), (2, 3, 4, 7, 6)), False),
        (((2, 3, 4, 5, 4), (4, 7, 4), (4, 7, 6)), False),
        (((2, 3, 1, 5, 4), (2, 1, 4, 7, 4), (4, 7, 6)), False),
        (((4, 5, 4), (2, 7, 4), (1, 7, 6)), True),
        (((2, 3, 4, 5, 4), (2, 3, 2, 7, 4), (2, 3, 2, 7, 6)), True),
    ],
    ids=str,
)
def test_any_number_of_axes_in_front_are_sequences_and_heads(shapes, grouped):
    q, k, v = (torch.randn(shape) for shape in shapes)
    call, out = read(q, k, v, enable_gqa=grouped), sdpa(q, k, v, enable_gqa=grouped)
    assert call.dense == out[..., 0].numel() * 7
    assert read(q, k, v, is_causal=True, enable_gqa=grouped).useful == out[..., 0, 0].numel() * 15
    if q.dim() > 2:
        mask = torch.rand(*out.shape[:-1], 7) < 0.5
        assert read(q, k, v, mask, enable_gqa=grouped).useful == int(mask.sum())


@pytest.mark.parametrize("sizes", [(0, 2, 3, 4), (2, 2, 0, 4), (2, 2, 3, 0)])
def test_no_sequences_no_queries_or_no_keys_are_no_pairs(sizes):
    b, h, n, m = sizes
    q, k = torch.zeros(b, h, n, 8), torch.zeros(b, h, m, 8)
    for options in ({}, {"is_causal": True}, {"attn_mask": torch.ones(n, m, dtype=torch.bool)}):
        call = read(q, k, k, **options)
        assert (call.useful, call.executed, call.dense) == (0, 0, 0)
        assert call.forward().executed == 0


@pytest.mark.parametrize(
    ("shapes", "options"),
    [
        (((1, 2, 3, 4), (1, 2, 3, 5), (1, 2, 3, 5)), {}),
        (((2, 2, 3, 4), (3, 2, 3, 4), (3, 2, 3, 4)), {}),
        (((1, 4, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)), {}),
        (((1, 4, 3, 4), (1, 3, 3, 4), (1, 3, 3, 4)), {"enable_gqa": True}),
        (((1, 4, 3, 4), (1, 4, 3, 4), (1, 4, 3, 4)), {"attn_mask": torch.ones(2, 3).bool()}),
        (((4,), (4,), (4,)), {}),
    ],
    ids=str,
)
def test_what_torch_refuses_is_left_to_torch(shapes, options):
    q, k, v = (torch.zeros(shape) for shape in shapes)
    assert API.read(q, k, v, **options) is None
    with pytest.raises((RuntimeError, ValueError, IndexError)):
        sdpa(q, k, v, **options)


def test_the_function_and_the_operation_are_met_however_they_are_called():
    q, mask = torch.randn(1, 2, 4, 8), torch.ones(4, 4, dtype=torch.bool).tril()
    operation = torch.ops.aten.scaled_dot_product_attention
    with Met(API) as met:
        sdpa(q, q, q, mask)
        sdpa(query=q, key=q, value=q, attn_mask=mask, dropout_p=0.0, scale=0.5)
        sdpa(q, q, q, None, 0.0, True)
        torch._C._nn.scaled_dot_product_attention(q, q, q, is_causal=True)
        operation(q, q, q, mask)
        operation.default(q, q, q, is_causal=True)
    assert [call.useful for call in met.calls] == [20] * 6


def test_sizes_without_values_count_alike_and_their_masks_leave_a_bound():
    q, k = (torch.zeros(2, 4, n, 8, device="meta") for n in (3, 5))
    real = torch.zeros(2, 4, 3, 8), torch.zeros(2, 4, 5, 8)
    assert read(q, k, k, is_causal=True) == read(real[0], real[1], real[1], is_causal=True)
    call = read(q, k, k, torch.ones(3, 5, dtype=torch.bool, device="meta"))
    assert call.useful == call.dense == 2 * 4 * 3 * 5
    assert call.unknown == "the values of a mask on the meta device are unknown"


def test_every_lane_of_vmap_is_counted():
    q, k, mask = torch.randn(3, 6, 2, 5, 4), torch.randn(2, 7, 4), torch.rand(6, 5, 7) < 0.5
    with Met(API) as met:
        torch.vmap(sdpa, in_dims=(1, None, None))(q, k, k)
        torch.vmap(sdpa, in_dims=(1, None, None, 0))(q, k, k, mask)
        torch.vmap(lambda q: sdpa(q, k, k, mask[0]), in_dims=1)(q)
    assert [call.dense for call in met.calls] == [3 * 6 * 2 * 5 * 7] * 3
    assert met.calls[0].bytes == 4 * (2 * q.numel() + 2 * k.numel())
    assert met.calls[1].unknown == "the values of a mask inside torch.func or vmap are unknown"
    assert met.calls[2].useful == 36 * int(mask[0].sum())


def test_bytes_are_those_kept_in_memory_and_of_the_type_computed_with():
    q, k = torch.randn(2, 4, 3, 8), torch.randn(2, 1, 5, 8)
    mask = torch.ones(5, dtype=torch.bool).expand(3, 5)
    moved = 2 * 4 * 3 * 8 * 2 + 2 * 5 * 8 * 2
    assert read(q, k, k, mask).bytes == 4 * moved + 5
    assert read(q, k.expand(2, 4, 5, 8), k, mask.float()).bytes == 4 * moved + 4 * 15
    assert read(q.half(), k.half(), k.half()).bytes == 2 * moved
    with torch.autocast("cpu", torch.bfloat16):
        assert sdpa(q, k, k).itemsize == 2
        assert read(q, k, k).bytes == 2 * moved
        assert read(q.double(), k.double(), k.double()).bytes == 8 * moved


N, WINDOW = 1024, 128


def band():
    distance = torch.arange(N)[:, None] - torch.arange(N)
    return (distance >= 0) & (distance < WINDOW)


@pytest.mark.parametrize(
    ("shapes", "options", "useful", "dense"),
    [
        ([(1, 8, 512, 64)] * 3, {}, 536_870_912, 536_870_912),
        ([(1, 8, 512, 64)] * 3, {"is_causal": True}, 268_959_744, 536_870_912),
        ([(1, 8, 256, 64)] + [(1, 2, 256, 64)] * 2, {"enable_gqa": True}, *[134_217_728] * 2),
        ([(1, 8, 128, 64)] + [(1, 8, 384, 64)] * 2, {}, *[100_663_296] * 2),
        ([(1, 8, 256, 64)] * 2 + [(1, 8, 256, 32)], {}, *[100_663_296] * 2),
        ([(1, 8, N, 64)] * 3, {"attn_mask": band()}, 251_789_312, 2_147_483_648),
        ([(1, 12, 64, 64)] * 3, {}, 12_582_912, 12_582_912),
        ([(2, 5, 9, 4)] * 3, {}, 12_960, 12_960),
        ([(1, 1, 512, 1)] * 3, {"is_causal": True}, 4 * 131_328, 4 * 512 * 512),
    ],
    ids=["whole", "causal", "shared", "cross", "narrow values", "window", "a", "b", "triangle"],
)
def test_cases_that_counters_get_wrong_count_as_derived_by_hand(shapes, options, useful, dense):
    """Each number is 2 * pairs * heads * (key + value features), worked out apart.

    pytorch/pytorch, issues 195460 and 134804, and pull request 177188; Dao-AILab/flash-attention,
    issue 594 for the triangle.
    """
    cost = read(*(torch.zeros(shape) for shape in shapes), **options).forward()
    assert (cost.useful, cost.dense, cost.executed) == (useful, dense, dense)
