"""Our own attention: dense masks are the oracle of what is read, `explain` of what is executed."""

import pytest
import torch
from tests.every import every_kernel
from tests.kernels.wishes import EVERY, honoured, wishes
from tests.oracle import random_key_mask, random_qkv, read
from torch.overrides import TorchFunctionMode

from attncost import Causal, Full, UnsupportedOption, Window, attention, explain
from attncost.cost.counting.apis.ours import Attention


class Calls(TorchFunctionMode):
    """Reads every call of ours, and runs it."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in Attention().functions():
            self.found += Attention().read(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def counted(*args, **options):
    with Calls() as calls:
        attention(*args, **options)
    (found,) = calls.found
    return found


def inputs(generator, n, m, **sizes):
    return [x.detach().float() for x in random_qkv(generator, n, m, **sizes)]


@every_kernel
@pytest.mark.parametrize("features", [(8, 8), (8, 5), (5, 8)], ids=str)
def test_a_call_costs_what_its_kernel_says(kernel, features, generator):
    qkv = inputs(generator, 70, 90, heads=(4, 2), features=features)
    options = wishes(*honoured(kernel, Causal(), ("key_mask", "segments")), n=70, m=90)
    call = counted(*qkv, Causal(), kernel=kernel, **options)
    cost = explain(*qkv, Causal(), kernel=kernel, **options).cost
    found = call.forward()
    assert (found.useful, found.executed, found.dense) == (cost.useful, cost.executed, cost.dense)
    assert (found.bytes, found.elementwise) == (cost.bytes, cost.elementwise)
    pairs = read(Causal().mask(70, 90), **options).expand(2, 4, 70, 90).sum()
    assert call.useful == pairs
    assert found.useful == 2 * pairs * sum(features)


def test_masks_and_a_bias_of_minus_infinity_are_not_read(generator):
    qkv = inputs(generator, 40, 40)
    hidden = torch.rand(1, 4, 40, 40, generator=generator) < 0.5
    bias = torch.zeros(1, 4, 40, 40).masked_fill(hidden, -torch.inf)
    key_mask = random_key_mask(generator, 40)
    call = counted(*qkv, Window(9), bias=bias, key_mask=key_mask)
    reads = read(Window(9).mask(40, 40), key_mask=key_mask) & ~bias.isneginf()
    assert call.useful == int(reads.expand(2, 4, 40, 40).sum())
    assert call.unknown is None


def test_what_is_asked_for_has_a_gradient():
    q, k, v = (torch.zeros(1, 2, 5, 8) for _ in range(3))
    bias = torch.zeros(1, 2, 5, 5)
    assert counted(q, k.requires_grad_(), v, bias=bias).learns == (False, True, False)
    assert not counted(q, k, v, bias=bias).learns_bias
    assert counted(q, k, v, alibi=torch.ones(2).requires_grad_()).learns_bias
    assert counted(q, k, v, bias=bias.requires_grad_()).learns_bias
    with torch.no_grad():
        found = counted(q, k, v, bias=bias)
    assert (found.learns, found.learns_bias) == ((False, False, False), False)


def test_a_backward_pass_multiplies_four_times_and_a_fused_one_once_more(generator):
    qkv = [x.requires_grad_() for x in inputs(generator, 300, 300, features=(8, 5))]
    call = counted(*qkv, Window(16), kernel="folded")
    forward, backward, again = call.forward(), call.backward(), call.again()
    assert backward.useful == 2 * forward.useful
    assert backward.executed == 2 * forward.executed
    # Both are padded to eight features.
    assert again.executed * 2 == forward.executed
    assert again.useful == again.dense == 0


def test_autocast_narrows_what_is_moved(generator):
    q, k, v = inputs(generator, 30, 30)
    half = counted(*(x.bfloat16() for x in (q, k, v)))
    with torch.autocast("cpu", torch.bfloat16):
        # Types may differ here, as after a norm, and become one.
        assert counted(q, k, v.bfloat16()).bytes == half.bytes
        assert counted(q.double(), k.double(), v.double()).bytes == 4 * half.bytes
    assert counted(q, k, v).bytes == 2 * half.bytes


def test_meta_tensors_cost_what_real_ones_do(generator):
    qkv = inputs(generator, 600, 600)
    real, meta = (counted(*(x.to(place) for x in qkv), Window(16)) for place in ("cpu", "meta"))
    assert real == meta
    mask = torch.ones(2, 600, dtype=torch.bool, device="meta")
    call = counted(*(x.to("meta") for x in qkv), Window(16), key_mask=mask)
    assert call.useful == real.useful
    assert call.unknown == "what key_mask may hide is not known."


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
def test_every_lane_of_a_vmap_is_a_call(generator):
    q, k, v = inputs(generator, 20, 20)
    with Calls() as calls:
        torch.vmap(attention, (0, None, None))(q.expand(3, *q.shape), k, v)
    one = counted(q, k, v)
    (call,) = calls.found
    assert (call.useful, call.executed) == (3 * one.useful, 3 * one.executed)
    assert (call.dense, call.bytes) == (3 * one.dense, 3 * one.bytes)


def test_a_call_that_is_refused_is_refused_as_ever(generator):
    qkv = inputs(generator, 5, 5)
    with pytest.raises(UnsupportedOption, match="kernel 'sdpa' cannot honour this call"):
        counted(*qkv, softcap=1.0, kernel="sdpa")


def test_every_option_is_taken(generator):
    qkv = inputs(generator, 20, 20)
    options = {name: x for name, x in wishes(*EVERY, n=20, m=20).items() if name != "segments"}
    call = counted(*qkv, Full(), return_lse=True, dropout_p=0.5, **options)
    assert call.useful == int(options["key_mask"].sum()) * 4 * 20
