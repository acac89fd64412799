"""However q, k and v lie in memory, the values are the same and n x m scores are never written."""

import pytest
import torch
from tests.kernels.attend import attend, every_plain_kernel
from tests.oracle import definition, random_qkv

from attncost import Causal, Full, MemoryMonitor, Window, attention

# Each draws numbers and returns a tensor of shape (b, h, n, f) that lies as the name says.
LAYOUTS = {
    "transposed": lambda draw, b, h, n, f: draw(b, h, f, n).mT,
    "every second feature": lambda draw, b, h, n, f: draw(b, h, n, 2 * f)[..., ::2],
    "one feature, expanded": lambda draw, b, h, n, f: draw(b, h, n, 1).expand(b, h, n, f),
    "heads last": lambda draw, b, h, n, f: draw(b, n, f, h).permute(0, 3, 1, 2),
    "heads after tokens": lambda draw, b, h, n, f: draw(b, n, h, f).transpose(1, 2),
    "one head, expanded": lambda draw, b, h, n, f: draw(b, 1, n, f).expand(b, h, n, f),
    "one sequence, expanded": lambda draw, b, h, n, f: draw(1, h, n, f).expand(b, h, n, f),
    "one token, expanded": lambda draw, b, h, n, f: draw(b, h, 1, f).expand(b, h, n, f),
    "part of a wider tensor": lambda draw, b, h, n, f: draw(b, h, n, 3 * f)[..., f : 2 * f],
    "every second token": lambda draw, b, h, n, f: draw(b, h, 2 * n, f)[:, :, ::2],
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
every_place = pytest.mark.parametrize("place", [0, 1, 2], ids=["q", "k", "v"])


@every_plain_kernel
@every_layout
@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(16)], ids=str)
@pytest.mark.parametrize("features", [(8, 8), (5, 8)], ids=str)
def test_values_and_gradients_do_not_depend_on_it(kernel, pattern, layout, features, generator):
    def draw(*shape):
        return torch.randn(shape, dtype=torch.float64, generator=generator)

    (d, e), n = features, 140
    qkv = [layout(draw, 2, 4, n, f).requires_grad_() for f in (d, d, e)]
    plain = [x.detach().clone().requires_grad_() for x in qkv]
    out, (exact, _) = attend(kernel, *qkv, pattern), definition(*plain, pattern.mask(n, n))
    torch.testing.assert_close(out, exact)
    torch.testing.assert_close(
        torch.autograd.grad(out.square().sum(), qkv),
        torch.autograd.grad(exact.square().sum(), plain),
    )


@every_layout
@every_place
@pytest.mark.parametrize("value_dim", [64, 48])
@pytest.mark.parametrize("pattern", [Full(), Window(64)], ids=str)
def test_memory_stays_flat(pattern, layout, place, value_dim, generator):
    def draw(*shape):
        return torch.randn(shape, generator=generator)

    n, h, features = 1024, 2, [64, 64, value_dim]
    qkv = [draw(1, h, n, f) for f in features]
    qkv[place] = layout(draw, 1, h, n, features[place])
    with MemoryMonitor("cpu") as plain:
        attention(*(x.contiguous() for x in qkv), pattern)
    with MemoryMonitor("cpu") as meter:
        attention(*qkv, pattern)
    copy = 4 * h * n * 64
    assert meter.peak <= plain.peak + 2 * copy, "not 8 MiB of scores"


def test_a_single_feature_that_lies_apart_stays_flat_too(generator):
    lying = torch.randn(1, 8, 1, 1024, generator=generator).mT
    assert lying.is_contiguous()
    assert lying.stride(3) > 1
    with MemoryMonitor("cpu") as meter:
        attention(lying, lying, lying)
    assert meter.peak < 1024 * 1024 * 4


@every_plain_kernel
@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(16)], ids=str)
@pytest.mark.parametrize("fused", ["b n (three h f)", "b n h (three f)", "three b h n f"])
def test_queries_keys_and_values_may_be_cut_out_of_one_tensor(kernel, pattern, fused, generator):
    def cut(whole):
        if fused == "three b h n f":
            return whole.view(3, b, h, n, f).unbind(0)
        if fused == "b n h (three f)":
            return whole.view(b, n, h, 3 * f).transpose(1, 2).split(f, 3)
        return [x.view(b, n, h, f).transpose(1, 2) for x in whole.view(b, n, -1).chunk(3, 2)]

    b, h, n, f = 2, 4, 140, 8
    whole = torch.randn(3 * b * h * n * f, dtype=torch.float64, generator=generator)
    one, other = whole.clone().requires_grad_(), whole.clone().requires_grad_()
    out, (exact, _) = (
        attend(kernel, *cut(one), pattern),
        definition(*cut(other), pattern.mask(n, n)),
    )
    torch.testing.assert_close(out, exact)
    torch.testing.assert_close(
        torch.autograd.grad(out.square().sum(), one),
        torch.autograd.grad(exact.square().sum(), other),
    )


@every_plain_kernel
@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(16, ahead=4)], ids=str)
@pytest.mark.parametrize(
    "shape",
    [
        (1, 1, 1, 1),
        (2, 1, 1, 1),
        (1, 4, 1, 1),
        (1, 1, 140, 1),
        (1, 1, 1, 150),
        (2, 1, 1, 150),
        (1, 4, 140, 150),
        (2, 1, 140, 150),
    ],
    ids=str,
)
@pytest.mark.parametrize("expanded", [False, True], ids=["of size 1", "expanded"])
def test_a_bias_may_be_broadcast_along_every_axis(kernel, pattern, shape, expanded, generator):
    qkv = random_qkv(generator, 140, 150, heads=(4, 2))
    bias = torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_()
    given = bias.expand(2, 4, 140, 150) if expanded else bias
    out, (exact, _) = (
        attend(kernel, *qkv, pattern, bias=given),
        definition(*qkv, pattern.mask(140, 150), bias=bias),
    )
    torch.testing.assert_close(out, exact)
    torch.testing.assert_close(
        torch.autograd.grad(out.square().sum(), [*qkv, bias]),
        torch.autograd.grad(exact.square().sum(), [*qkv, bias]),
    )


@every_plain_kernel
@every_layout
def test_a_bias_may_lie_in_memory_as_it_likes(kernel, layout, generator):
    def draw(*shape):
        return torch.randn(shape, dtype=torch.float64, generator=generator)

    qkv = random_qkv(generator, 140, 150, heads=(4, 2))
    bias = layout(draw, 2, 4, 140, 150).requires_grad_()
    out, (exact, _) = (
        attend(kernel, *qkv, Window(16), bias=bias),
        definition(*qkv, Window(16).mask(140, 150), bias=bias),
    )
    torch.testing.assert_close(
        [out, *torch.autograd.grad(out.square().sum(), [*qkv, bias])],
        [exact, *torch.autograd.grad(exact.square().sum(), [*qkv, bias])],
    )
