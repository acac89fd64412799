"""Flex attention by its slow way on a CPU: what it is told to read, and what comes of it."""

import pytest
import torch
from tests.every import every_pattern
from tests.oracle import definition, random_key_mask, random_qkv
from torch.nn.attention import flex_attention

from attncost import Causal, Dims, Full, UnsupportedOption, Window, attention, patterns
from attncost.core.options import Options
from attncost.kernels.flex import Flex, block_mask
from attncost.kernels.interface import Call

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _without_compiling(monkeypatch):
    """PyTorch's own switch for looking at the rules."""
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


def blocks(mask, *, how):
    """Cut a dense mask into blocks; what lies beyond it belongs to none."""
    n, m = mask.shape
    return torch.tensor(
        [[how(mask[i : i + 128, j : j + 128]) for j in range(0, m, 128)] for i in range(0, n, 128)]
    )


@every_pattern
@pytest.mark.parametrize(("n", "m"), [(129, 129), (300, 300), (256, 300), (300, 140)])
def test_blocks_are_those_that_hold_a_pair_and_are_full_if_they_hold_all(pattern, n, m):
    made = block_mask(pattern, Options(), n, m, device=CPU)
    mask = pattern.mask(n, m)
    holds = blocks(mask, how=lambda block: bool(block.any()))
    assert not (holds & (made.to_dense()[0, 0] == 0)).any(), "every pair must be in a block"
    full = made.from_kv_blocks(made.full_kv_num_blocks, made.full_kv_indices).to_dense()[0, 0] > 0
    assert not (full & ~blocks(mask, how=lambda block: bool(block.all()))).any()
    assert made.shape == (1, 1, n, m)
    q = torch.zeros(1, 1, n, 16)
    call = Call(pattern, Dims.of(q.shape, (1, 1, m, 16), (1, 1, m, 16)), Options())
    assert Flex().work(call).pairs == made.to_dense().sum() * 128**2


@pytest.mark.parametrize(
    "pattern", [Full(), Causal(), Window(200), Window(300, ahead=150)], ids=str
)
@pytest.mark.parametrize(("n", "m"), [(129, 129), (512, 512), (256, 400), (300, 140)])
def test_blocks_of_a_band_are_no_more_than_needed(pattern, n, m):
    made, mask = block_mask(pattern, Options(), n, m, device=CPU), pattern.mask(n, m)
    holds = blocks(mask, how=lambda block: bool(block.any()))
    assert torch.equal(made.to_dense()[0, 0] > 0, holds)
    partial = holds & ~blocks(mask, how=lambda block: bool(block.all()))
    assert torch.equal(made.kv_num_blocks[0, 0], partial.sum(1).int())
    assert made.sparsity() == pytest.approx(
        100 * (1 - holds.sum().item() * 128**2 / (n * m)), abs=1e-4
    )


@every_pattern
@pytest.mark.parametrize(("n", "m"), [(40, 150), (150, 40), (129, 129)])
def test_values_and_log_sum_exps_are_those_of_the_definition(pattern, n, m, generator):
    qkv = [x.detach() for x in random_qkv(generator, n, m, heads=(4, 2), features=(8, 5))]
    options = Options(return_lse=True, scale=0.3)
    output = Flex().run(*qkv, pattern, options)
    exact = definition(*qkv, pattern.mask(n, m), 0.3)
    torch.testing.assert_close((output.out, output.lse), exact)


@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(9)], ids=str)
@pytest.mark.parametrize(("n", "m"), [(40, 150), (150, 40)])
@pytest.mark.parametrize("axes", [(2, 4, 0, 0), (1, 4, 0, 1), (2, 1, 1, 0)], ids=str)
def test_every_option_is_honoured(pattern, n, m, axes, generator):
    qkv = [x.detach() for x in random_qkv(generator, n, m)]
    tokens = max(n, m)
    shape = (*axes[:2], axes[2] or n, axes[3] or m)
    options = {
        "key_mask": random_key_mask(generator, m),
        "segments": torch.randint(3, (2, tokens), generator=generator).sort()[0],
        "bias": torch.randn(shape, dtype=torch.float64, generator=generator),
        "alibi": torch.rand(4, dtype=torch.float64, generator=generator),
        "softcap": 2.0,
        "sink": torch.randn(4, dtype=torch.float64, generator=generator),
    }
    output = Flex().run(*qkv, pattern, Options(return_lse=True, **options))
    exact = definition(*qkv, pattern.mask(n, m), **options)
    torch.testing.assert_close((output.out, output.lse), exact)
    assert not output.out[-1].any(), "nothing may be read in the last sequence"


def call(*, device="cuda", n=9, features=(16, 16), itemsize=2, **options):
    d, e = features
    dims = Dims(length=n, head_dim=d, value_dim=e, itemsize=itemsize)
    return Call(Causal(), dims, Options(**options), device=device)


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (call(device="cpu"), "NVIDIA GPUs only, not for cpu"),
        (call(dropout_p=0.1), "no dropout"),
        (call(n=0), "nothing to compile"),
        (call(features=(16, 8)), "at least 16 features"),
        (call(itemsize=8), "at most float32"),
    ],
)
def test_what_it_cannot_do_is_refused_in_words(one, reason):
    assert reason in (Flex().refuses(one) or "")


def test_a_cpu_is_told_so_and_a_gpu_is_not_refused(generator):
    with pytest.raises(UnsupportedOption, match=r"kernel 'flex' cannot .* not for cpu"):
        attention(*random_qkv(generator, 9, 9), kernel="flex")
    assert Flex().refuses(call(softcap=1.0, return_lse=True)) is None
    assert "index of 3 x 3 blocks" in Flex().caveats(call(n=300))[0]


@pytest.mark.device
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("name", patterns.names())
def test_a_gpu_computes_the_same(name, generator, monkeypatch):
    monkeypatch.undo()
    pattern = patterns.load(name).examples()[0]
    made = random_qkv(generator, 300, 300, heads=(4, 2), features=(32, 32))
    qkv = [x.detach().cuda().float().requires_grad_() for x in made]
    found = attention(*qkv, pattern, kernel="flex")
    doubles = [x.detach().double().cpu().requires_grad_() for x in qkv]
    exact, _ = definition(*doubles, pattern.mask(300, 300))
    torch.testing.assert_close(found.double().cpu(), exact, atol=1e-2, rtol=1e-2)
    gradients = torch.autograd.grad(found.sin().sum(), qkv)
    for mine, true in zip(gradients, torch.autograd.grad(exact.sin().sum(), doubles), strict=True):
        torch.testing.assert_close(mine.double().cpu(), true, atol=2e-2, rtol=2e-2)
