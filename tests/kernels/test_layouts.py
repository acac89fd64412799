"""However q, k and v lie in memory, the values are the same and n x m scores are never written."""

import pytest
import torch
from tests.every import every_kernel
from tests.kernels.attend import attend
from tests.oracle import definition

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


@every_kernel
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
