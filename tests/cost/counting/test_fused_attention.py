"""Fused attention as operations: torch counts what is executed, brute force what is useful."""

import pytest
import torch
from tests.oracle import random_qkv, read
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from attncost import Window, attention
from attncost.cost.counting.apis.flex import FlexAttention
from attncost.cost.counting.prices import price_for
from attncost.cost.counting.registry import name_of

ATEN = torch.ops.aten
B, H, N, M, D, E = 2, 4, 24, 24, 16, 16
TRIANGLE = N * (N + 1) // 2


class Prices(TorchDispatchMode):
    """Adds up the prices of the operations of attention, by name."""

    def __init__(self):
        super().__init__()
        self.found = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        price = price_for(func)
        if price is not None and price.step == "attention":
            cost = price.formula(*args, out=out, **(kwargs or {}))
            self.found[name_of(func)] = self.found.get(name_of(func), 0 * cost) + cost
        return out


def priced(call):
    with Prices() as prices:
        call()
    return prices.found


def meta(*shape, **options):
    return torch.zeros(*shape, device="meta", **options)


def qkv(n=N, m=M, *, dims=(D, E), heads=(H, H), transposed=False):
    shapes = [(B, heads[0], n, dims[0]), (B, heads[1], m, dims[0]), (B, heads[1], m, dims[1])]
    tensors = [meta(*shape) for shape in shapes]
    return [x.transpose(1, 2) for x in tensors] if transposed else tensors


def scaled(kernel, q, k, v, mask=None, *, causal=False):
    operation = getattr(ATEN, f"_scaled_dot_product_{kernel}")
    if kernel == "flash_attention":
        return operation(q, k, v, 0.0, causal)
    if kernel == "flash_attention_for_cpu":
        return operation(q, k, v, 0.0, causal, attn_mask=mask)
    return operation(q, k, v, mask, True, 0.0, causal)


KERNELS = [
    "flash_attention",
    "flash_attention_for_cpu",
    "efficient_attention",
    "cudnn_attention",
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


@every_kernel
@pytest.mark.parametrize("causal", [False, True])
def test_forward_multiplies_what_torch_counts(kernel, causal):
    inputs = qkv()
    (cost,) = priced(lambda: scaled(kernel, *inputs, causal=causal)).values()
    assert cost.executed == cost.dense == sdpa_flop_count(*(x.shape for x in inputs))
    # Torch's own formula takes no notice of a mask.
    assert cost.useful == B * H * (TRIANGLE if causal else N * M) * 2 * (D + E)


def test_an_operation_that_other_devices_bring_has_a_price_without_being_run():
    formula = price_for("aten::_scaled_dot_product_fused_attention_overrideable").formula
    assert formula(*qkv(), None, 0.0, True, out=None).useful == B * H * TRIANGLE * 2 * (D + E)


@pytest.mark.parametrize("kernel", ["efficient_attention", "flash_attention_for_cpu"])
def test_a_mask_with_values_is_looked_at(kernel, generator):
    inputs = [torch.zeros(x.shape) for x in qkv(N, 30)]
    reads = torch.rand(B, 1, N, 30, generator=generator) > 0.5
    mask = torch.zeros(B, 1, N, 30).masked_fill(~reads, -torch.inf).expand(B, H, N, 30)
    formula = price_for(f"aten::_scaled_dot_product_{kernel}").formula
    named = {"attn_mask" if kernel.endswith("cpu") else "attn_bias": mask}
    assert formula(*inputs, out=None, **named).useful == H * int(reads.sum()) * 2 * (D + E)


def backward(kernel, q, k, v):
    out, lse, *rest = scaled(kernel, q, k, v)
    operation = getattr(ATEN, f"_scaled_dot_product_{kernel}_backward")
    like = torch.empty_like(out)
    number = meta(2, dtype=torch.int64)
    if kernel == "flash_attention":
        starts = rest[:2]
        return operation(like, q, k, v, out, lse, *starts, N, M, 0.0, False, number, number)
    if kernel == "flash_attention_for_cpu":
        return operation(like, q, k, v, out, lse, 0.0, False)
    if kernel == "efficient_attention":
        wanted = [True, True, True, False]
        return operation(like, q, k, v, meta(0), out, lse, number, number, 0.0, wanted)
    starts = meta(0)
    mask = (number, number, starts, starts, starts, N, M, 0.0, False)
    return operation(like, q, k, v, out, lse, *mask)


@every_kernel
def test_backward_is_two_forward_passes_and_executes_the_scores_again(kernel):
    inputs = qkv()
    found = priced(lambda: backward(kernel, *inputs))
    cost = found[f"aten::_scaled_dot_product_{kernel}_backward"]
    shapes = [x.shape for x in inputs]
    assert cost.executed == sdpa_backward_flop_count(shapes[0], *shapes)
    assert cost.useful == cost.dense == 2 * sdpa_flop_count(*shapes)


def test_only_gradients_that_are_asked_for_are_computed():
    q, k, v = qkv()
    formula = price_for("aten::_scaled_dot_product_efficient_attention_backward").formula
    rest = (meta(0), q, meta(B, H, N), None, None, 0.0)
    pairs = B * H * N * M
    only_v = formula(q, q, k, v, *rest, [False, False, True, False], out=None)
    assert only_v.useful == 2 * pairs * E
    only_bias = formula(q, q, k, v, *rest, [False, False, False, True], out=None)
    assert only_bias.useful == 2 * pairs * E
    assert only_bias.executed == 2 * pairs * (E + D)


STARTS = torch.tensor([0, 3, 3, 20, B * N], dtype=torch.int32)


@pytest.mark.parametrize("packed", [False, True])
def test_flash_and_efficient_attention_multiply_what_torch_counts(packed):
    q, k, v = qkv(transposed=True)
    starts = (STARTS, STARTS, 28, 28) if packed else (None, None, N, M)
    flat = [x.reshape(B * N, H, -1) for x in (q, k, v)] if packed else [q, k, v]
    again = [x[None] for x in flat] if packed else flat
    formulas = [
        (ATEN._flash_attention_forward, (*flat, *starts, 0.0, False, False)),
        (ATEN._efficient_attention_forward, (*again, None, *starts, 0.0, 0)),
    ]
    for operation, args in formulas:
        cost = price_for(operation).formula(*args, out=None)
        # Torch's own formula takes other layouts for (b, h, n, d).
        sizes = STARTS.diff().tolist() if packed else [N] * B
        assert cost.executed == cost.useful == H * sum(n * n for n in sizes) * 2 * (D + E)
        assert cost.dense == H * (4 * 28**2 if packed else B * N * M) * 2 * (D + E)


def bands(n, m, *, first=False, left=-1, right=-1):
    """Count pairs of one document, one by one."""
    distance = torch.arange(m) - torch.arange(n)[:, None] - (0 if first else m - n)
    reads = torch.ones_like(distance, dtype=torch.bool)
    if left >= 0:
        reads &= distance >= -left
    if right >= 0:
        reads &= distance <= right
    return int(reads.sum())


@pytest.mark.parametrize(("n", "m"), [(12, 12), (5, 19), (19, 5)])
def test_causal_and_window_masks_are_those_of_each_kernel(n, m):
    q, k, v = qkv(n, m, transposed=True)
    flash = price_for(ATEN._flash_attention_forward).formula
    efficient = price_for(ATEN._efficient_attention_forward).formula
    each = B * H * 2 * (D + E)

    def of_flash(causal, **window):
        return flash(q, k, v, None, None, n, m, 0.0, causal, False, out=None, **window).useful

    def of_efficient(kind, **window):
        args = (q, k, v, None, None, None, n, m, 0.0, kind)
        return efficient(*args, out=None, **window).useful

    assert of_flash(True) == each * bands(n, m, right=0)
    window = {"window_size_left": 3, "window_size_right": 1}
    assert of_flash(False, **window) == each * bands(n, m, left=3, right=1)
    assert of_flash(True, **window) == each * bands(n, m, left=3, right=0)
    assert of_efficient(1) == each * bands(n, m, first=True, right=0)
    assert of_efficient(2) == each * bands(n, m, right=0)
    assert of_efficient(2, window_size=3) == each * bands(n, m, left=2, right=0)
    assert of_efficient(1, window_size=3) == each * bands(n, m, first=True, left=2, right=0)


@pytest.mark.parametrize("kind", [0, 1])
def test_a_bias_of_efficient_attention_is_looked_at(kind, generator):
    q, k, v = qkv(transposed=True)
    reads = torch.rand(B, H, N, M, generator=generator) > 0.5
    bias = torch.zeros(B, H, N, M).masked_fill(~reads, -torch.inf)
    args = (q, k, v, bias, None, None, N, M, 0.0, kind)
    cost = price_for(ATEN._efficient_attention_forward).formula(*args, out=None)
    kept = reads & torch.ones(N, M, dtype=torch.bool).tril() if kind else reads
    assert cost.useful == int(kept.sum()) * 2 * (D + E)


def test_documents_side_by_side_go_back():
    flat = [x.reshape(B * N, H, -1) for x in qkv(transposed=True)]
    starts = (STARTS, STARTS, 28, 28)
    pairs = H * sum(n * (n + 1) // 2 for n in STARTS.diff().tolist())
    calls = [
        ("aten::_flash_attention_backward", (flat[0], *flat, flat[0], None, *starts, 0.0, True)),
        (
            "torch_attn::_varlen_attn_backward",
            (flat[0], *flat, flat[0], None, *starts, True, None),
        ),
    ]
    for operation, args in calls:
        cost = price_for(operation).formula(*args, out=None)
        assert cost.useful == pairs * 4 * (D + E)
        assert cost.executed == pairs * (4 * (D + E) + 2 * D)


def test_on_a_cpu_fused_attention_has_a_price_forward_and_backward(generator):
    inputs = [x.float().detach().requires_grad_() for x in random_qkv(generator, 9, 9)]

    def both():
        scaled_dot_product_attention(*inputs, is_causal=True).sum().backward()

    forward, back = priced(both).values()
    assert forward.useful == 2 * 4 * 45 * 2 * (8 + 8)
    assert back.useful == 2 * forward.useful
    with FlopCounterMode(display=False) as counter:
        both()
    if torch.__version__.startswith("2.13"):
        assert counter.get_total_flops() == 0


def test_our_own_operation_has_a_price_forward_and_backward(generator):
    inputs = [x.float().detach().requires_grad_() for x in random_qkv(generator, 300, 300)]
    mask = torch.rand(2, 300, generator=generator) > 0.3
    bias = torch.zeros(1, 4, 300, 300, requires_grad=True)
    options = {"key_mask": mask, "bias": bias, "kernel": "folded"}
    found = priced(lambda: attention(*inputs, Window(20), **options).sum().backward())
    pairs = 4 * int(read(Window(20).mask(300, 300), key_mask=mask).sum())
    forward, back = found["attncost::blockwise"], found["attncost::blockwise_backward"]
    assert forward.useful == 2 * pairs * (8 + 8) < forward.executed < forward.dense
    assert back.useful == 2 * forward.useful
    assert back.executed == 2 * forward.executed + forward.executed // 2


def test_gradients_of_flex_attention_have_a_price():
    q, k, v = qkv()
    none, numbers = torch.zeros(1, 1, 1, dtype=torch.int32), torch.zeros(1, 1, 1, 1)
    blocks = (N, M, none + 1, numbers.int(), None, None, 128, 128, lambda b, h, i, j: i >= j)
    price = price_for("higher_order::flex_attention_backward")
    args = (q, k, v, q, None, q, None, lambda score, *_: score, None, blocks, 1.0, {})
    cost = price.formula(*args, out=None)
    (call,) = FlexAttention().read(q, k, v, lambda score, *_: score, blocks, 1.0, {})
    assert call.useful == B * H * TRIANGLE
    assert cost.useful == 4 * call.useful * (D + E)
    assert cost.executed == 4 * call.executed * (D + E) + 2 * call.executed * D
