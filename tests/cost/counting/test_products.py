"""Products of matrices, against PyTorch's counter where it is right, else by hand."""

from itertools import product

import pytest
import torch
from tests.cost.counting.pricing import cost_of
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from attncost.core.cost import Cost

B, M, K, N = 2, 3, 5, 7


def normal(*sizes, **options):
    return torch.randn(*sizes, **options)


# Products that PyTorch counts, too, and that every kind of tensor can do.
COUNTED = {
    "mm": lambda: normal(M, K) @ normal(K, N),
    "bmm": lambda: normal(B, M, K) @ normal(B, K, N),
    "addmm": lambda: torch.addmm(normal(N), normal(M, K), normal(K, N)),
    "addmm in place": lambda: normal(M, N).addmm_(normal(M, K), normal(K, N)),
    "baddbmm": lambda: torch.baddbmm(normal(N), normal(B, M, K), normal(B, K, N), alpha=0.5),
    "addbmm": lambda: torch.addbmm(normal(M, N), normal(B, M, K), normal(B, K, N)),
    "matmul": lambda: normal(1, B, M, K) @ normal(4, 1, K, N),
    "einsum": lambda: torch.einsum("bik,bjk->bij", normal(B, M, K), normal(B, N, K)),
    "tensordot": lambda: torch.tensordot(normal(M, B, K), normal(B, K, N)),
    "linear": lambda: functional.linear(normal(B, M, K), normal(N, K), normal(N)),
    "linear of a transposed input": lambda: functional.linear(
        normal(M, B, K).mT.mT.transpose(0, 1), normal(N, K)
    ),
    "two linear layers": lambda: torch.linalg.multi_dot([normal(M, K), normal(K, N), normal(N, 2)]),
}
# What PyTorch's counter leaves out, and how many multiply-adds there are.
LEFT_OUT = {
    "addmm in place": M * K * N,
    "addbmm": B * M * K * N,
    "mv": M * K,
    "addmv": M * K,
    "dot": K,
    "vdot": K,
    "addr": M * N,
}
VECTORS = {
    "mv": lambda: normal(M, K) @ normal(K),
    "addmv": lambda: torch.addmv(normal(M), normal(M, K), normal(K)),
    "dot": lambda: normal(K) @ normal(K),
    "vdot": lambda: torch.vdot(normal(K), normal(K)),
    "addr": lambda: torch.addr(normal(N), normal(M), normal(N)),
}


def peers(call):
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


@pytest.mark.parametrize("name", [name for name in COUNTED if name not in LEFT_OUT])
def test_a_product_costs_what_pytorch_counts(name):
    cost = cost_of(COUNTED[name])
    assert cost.dense == cost.useful == cost.executed == peers(COUNTED[name]) > 0


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_product_that_pytorch_does_not_count_costs_its_multiply_adds(name):
    assert cost_of((VECTORS | COUNTED)[name]).dense == 2 * LEFT_OUT[name]


@pytest.mark.parametrize("name", [*COUNTED, *VECTORS])
def test_a_product_costs_the_same_on_real_meta_and_fake_tensors(name):
    call = (COUNTED | VECTORS)[name]
    real = cost_of(call)
    with torch.device("meta"):
        assert cost_of(call) == real
    with FakeTensorMode():
        assert cost_of(call) == real


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("name", [*COUNTED, *VECTORS])
def test_a_product_has_the_same_flops_with_and_without_gradients(name, mode):
    call = (COUNTED | VECTORS)[name]
    real = cost_of(call)
    with mode():
        found = cost_of(call)
    assert (found.dense, found.elementwise) == (real.dense, real.elementwise)


def test_gradients_of_a_linear_layer_cost_twice_the_layer():
    layer, x = nn.Linear(K, N), normal(B, M, K, requires_grad=True)
    forward = cost_of(lambda: layer(x)).dense
    assert cost_of(lambda: layer(x).sum().backward()).dense == 3 * forward == 6 * B * M * K * N


def test_a_product_moves_its_factors_and_its_result_once():
    a, b, bias = normal(M, K), normal(K, N), normal(N)
    assert cost_of(lambda: a @ b).bytes == 4 * (M * K + K * N + M * N)
    assert cost_of(lambda: a.half() @ b.half()).bytes == 6 * (M * K + K * N) + 2 * (
        M * K + K * N + M * N
    )
    with torch.inference_mode():
        found = cost_of(lambda: functional.linear(a, b.mT.contiguous(), bias))
    assert found.bytes == 2 * 4 * K * N + 4 * (M * K + K * N + N + M * N)


def test_a_bias_is_one_elementwise_operation_for_each_number():
    a, b, c = normal(B, M, K), normal(B, K, N), normal(B, M, N)
    assert cost_of(lambda: a @ b).elementwise == 0
    assert cost_of(lambda: torch.baddbmm(c, a, b)).elementwise == B * M * N
    assert cost_of(lambda: torch.baddbmm(c, a, b, beta=0)).elementwise == 0


def grouped(a, b):
    """Return the price of a grouped product, and the sum of those of its single ones."""
    ends = torch.tensor([8, 8, 24], dtype=torch.int32)
    starts = [0, *ends.tolist()][:3]
    spans = [slice(start, end) for start, end in zip(starts, ends.tolist(), strict=True)]
    shares = {
        (2, 3): lambda place: (a[spans[place]], b[place]),
        (3, 2): lambda place: (a[place], b[:, spans[place]]),
        (2, 2): lambda place: (a[:, spans[place]], b[spans[place]]),
        (3, 3): lambda place: (a[place], b[place]),
    }[a.dim(), b.dim()]
    whole = cost_of(
        lambda: functional.grouped_mm(a, b, offs=None if a.dim() == b.dim() == 3 else ends)
    )
    singles = [cost_of(lambda place=place: torch.mm(*shares(place))) for place in range(3)]
    return whole.dense, sum(cost.dense for cost in singles)


@pytest.mark.parametrize(
    "sizes",
    [((24, 8), (3, 8, 16)), ((3, 8, 16), (16, 24)), ((8, 24), (24, 16)), ((3, 8, 16), (3, 16, 8))],
)
def test_a_grouped_product_costs_what_its_groups_do(sizes):
    a, b = (normal(*size, dtype=torch.bfloat16) for size in sizes)
    whole, singles = grouped(a, b)
    assert whole == singles > 0


def test_products_of_whole_numbers_cost_what_others_do():
    a, b = (torch.randint(-5, 5, size, dtype=torch.int8) for size in ((32, 16), (16, 24)))
    assert cost_of(lambda: torch._int_mm(a, b)) == Cost(
        useful=2 * 32 * 16 * 24,
        executed=2 * 32 * 16 * 24,
        dense=2 * 32 * 16 * 24,
        bytes=32 * 16 + 16 * 24 + 4 * 32 * 24,
    )
    scales = normal(24, dtype=torch.bfloat16)
    x = normal(32, 16, dtype=torch.bfloat16)
    found = cost_of(lambda: torch._weight_int8pack_mm(x, b.mT.contiguous(), scales))
    assert found.dense == 2 * 32 * 16 * 24


def test_packed_weights_cost_what_they_stand_for():
    with torch.device("meta"):
        x, weight = normal(4, 64, dtype=torch.bfloat16), torch.empty(32, 32, dtype=torch.uint8)
        scales = normal(2, 32, 2, dtype=torch.bfloat16)
        call = torch.ops.aten._weight_int4pack_mm_for_cpu
        assert cost_of(lambda: call(x, weight, 32, scales)).dense == 2 * 4 * 64 * 32


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_quantized_weights_cost_what_they_stand_for():
    weight = torch.quantize_per_tensor(normal(24, 16), 0.1, 0, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(weight, None)
    found = cost_of(lambda: torch.ops.quantized.linear_dynamic(normal(5, 16), packed))
    assert found.dense == 2 * 5 * 16 * 24


def test_numbers_of_eight_bits_cost_what_others_do():
    with torch.device("meta"):
        a, b = (torch.empty(size, dtype=torch.float8_e4m3fn) for size in ((16, 32), (48, 32)))
        one = torch.ones(())
        call = lambda: torch._scaled_mm(a, b.mT, one, one, out_dtype=torch.bfloat16)  # noqa: E731
        assert cost_of(call).dense == 2 * 16 * 32 * 48


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_only_what_a_sparse_factor_stores_is_multiplied():
    dense = torch.tensor([[1.0, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 0]])
    for sparse in (dense.to_sparse(), dense.to_sparse_csr()):
        cost = cost_of(lambda sparse=sparse: sparse @ torch.ones(4, 5))
        assert (cost.useful, cost.executed, cost.dense) == (2 * 3 * 5, 2 * 3 * 5, 2 * 3 * 4 * 5)


def test_two_sparse_factors_multiply_where_both_store_a_number():
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.rand(6, 6, generator=generator).round() for _ in range(2))
    places = product(range(6), repeat=3)
    meetings = sum(bool(a[i, k]) and bool(b[k, j]) for i, j, k in places)
    assert 0 < meetings < 6**3
    assert cost_of(lambda: torch.mm(a.to_sparse(), b.to_sparse())).executed == 2 * meetings


def test_a_bilinear_layer_costs_two_products():
    layer, x, y = nn.Bilinear(4, 6, 5), normal(3, 4), normal(3, 6)
    assert cost_of(lambda: layer(x, y)).dense == 2 * 3 * 5 * 4 * 6 + 2 * 3 * 5 * 6
