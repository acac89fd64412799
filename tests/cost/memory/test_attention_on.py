"""The kernel of attention that a GPU would choose, and what it keeps, on meta tensors."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from attncost.core.errors import UnsupportedOption
from attncost.cost.memory.attention_on import attend

BF16, F32, F64 = torch.bfloat16, torch.float32, torch.float64
FLASH, EFFICIENT, MATH = "Flash", "Efficient", "math"


def inputs(length=96, *, keys=None, heads=4, kv_heads=None, dtype=BF16, features=64):
    def made(heads, length):
        shape = (2, heads, length, features)
        return torch.empty(shape, dtype=dtype, device="meta", requires_grad=True)

    keys, kv_heads = keys or length, kv_heads or heads
    return made(heads, length), made(kv_heads, keys), made(kv_heads, keys)


def mask(length, keys, dtype=torch.bool):
    return torch.empty(length, keys, dtype=dtype, device="meta")


def kept(tensors, **options):
    """Return the bytes that a call keeps for its backward pass, inputs and output included."""
    found = {}

    def keep(x):
        found[x.untyped_storage()._cdata] = x.untyped_storage()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        out = attend(*tensors, **options)
    out.sum().backward()
    assert out.shape == tensors[0].shape
    assert [x.grad.shape for x in tensors] == [x.shape for x in tensors]
    return sum(storage.nbytes() for storage in found.values())


def kernel(tensors, **options):
    """Return the kernel that ran, by what autograd remembers."""
    step, seen = attend(*tensors, **options).grad_fn, []
    while step is not None:
        seen.append(step.name())
        step = step.next_functions[0][0] if step.next_functions else None
    return next((name for name in (FLASH, EFFICIENT) if name in " ".join(seen)), MATH)


@pytest.mark.parametrize(
    ("given", "options", "expected"),
    [
        ({}, {}, FLASH),
        ({"dtype": torch.float16}, {"is_causal": True}, FLASH),
        ({}, {"dropout_p": 0.1}, FLASH),
        ({"features": 256}, {}, FLASH),
        ({"features": 20}, {}, FLASH),
        ({"kv_heads": 2}, {"enable_gqa": True}, FLASH),
        ({"features": 264}, {}, EFFICIENT),
        ({"keys": 48}, {"is_causal": True}, EFFICIENT),
        ({}, {"attn_mask": mask(96, 96)}, EFFICIENT),
        ({"dtype": F32}, {}, EFFICIENT),
        ({"dtype": F32, "features": 20}, {"attn_mask": mask(96, 96, F32)}, EFFICIENT),
        ({"dtype": F32, "features": 18}, {}, MATH),
        ({"dtype": F64}, {}, MATH),
        ({"dtype": F32, "kv_heads": 2}, {"enable_gqa": True}, MATH),
        ({"kv_heads": 2}, {"enable_gqa": True, "attn_mask": mask(96, 96)}, MATH),
    ],
)
def test_a_call_becomes_the_kernel_of_the_published_rules(given, options, expected):
    assert kernel(inputs(**given), **options) == expected


def test_what_is_no_batch_of_heads_is_spelled_out():
    tensors = [x.detach()[0].requires_grad_() for x in inputs()]
    assert kernel(tensors) == MATH


def test_flash_keeps_four_times_the_input_and_one_number_a_row():
    for n in (96, 192, 4096):
        random_state = kept(inputs(n)) - 2 * 4 * n * (4 * 64 * 2 + 4)
        assert 0 <= random_state <= 64


def test_efficient_attention_keeps_a_number_for_every_score_of_a_mask():
    n = 96
    plain = kept(inputs(n, dtype=F32))
    assert plain == pytest.approx(2 * 4 * n * (4 * 64 * 4 + 4), abs=64)
    # Broadcast over heads, it is not copied if rows are whole units; else it is, for each head.
    assert kept(inputs(n, dtype=F32), attn_mask=mask(n, n)) - plain == 4 * n * n
    n = 100
    grown = kept(inputs(n, dtype=F32), attn_mask=mask(n, n)) - kept(inputs(n, dtype=F32))
    assert grown == 2 * 4 * n * 112 * 4


def test_attention_spelled_out_keeps_more_than_all_scores():
    tensors = inputs(512, dtype=F64)
    assert kept(tensors) > 2 * 4 * 512 * 512 * 8


def test_kernels_that_are_switched_off_are_passed_over():
    with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
        assert kernel(inputs()) == EFFICIENT
    with sdpa_kernel(SDPBackend.MATH):
        assert kernel(inputs()) == MATH
    order = [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]
    with sdpa_kernel(order, set_priority=True):
        assert kernel(inputs()) == MATH


def test_a_call_that_no_kernel_may_run_is_refused():
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION), pytest.raises(UnsupportedOption, match="float32"):
        attend(*inputs(dtype=F32))


def test_autocast_brings_a_call_to_16_bits():
    before = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", BF16)
    try:
        out = attend(*inputs(dtype=F32), is_causal=True)
    finally:
        torch.set_autocast_enabled("cuda", before[0])
        torch.set_autocast_dtype("cuda", before[1])
    assert out.dtype == BF16


@pytest.mark.parametrize("boolean", [True, False])
def test_attention_spelled_out_is_pytorchs_own(generator, boolean):
    q, k, v = torch.randn(3, 1, 2, 7, 4, generator=generator, dtype=F64)
    numbers = torch.randn(7, 7, generator=generator, dtype=F64)
    given = (numbers > -1).fill_diagonal_(True) if boolean else numbers
    with sdpa_kernel(SDPBackend.MATH):
        found = attend(q, k, v, given, scale=0.3)
    assert torch.allclose(found, scaled_dot_product_attention(q, k, v, given, scale=0.3))
