"""Documents one by one are what all of them are at once under a mask."""

import pytest
import torch
from tests.kernels.corners import numbered
from tests.kernels.counted import flops, moved
from tests.oracle import definition, random_key_mask, random_qkv

from attncost import (
    Causal,
    Dims,
    Full,
    UnsupportedOption,
    Window,
    attention,
    explain,
    kernels,
    patterns,
)
from attncost.core.options import Options
from attncost.kernels.interface import Call

LENGTHS = (1, 30, 1, 1, 65, 12)
SEGMENTS = numbered(range(6), LENGTHS)
RELATIVE = [Full(), Causal(), Window(7), Window(33, ahead=16)]


@pytest.mark.parametrize("pattern", RELATIVE, ids=str)
@pytest.mark.parametrize(("n", "m"), [(110, 110), (50, 110), (110, 50), (1, 110)])
def test_documents_with_all_options_are_those_of_the_definition(pattern, n, m, generator):
    qkv = random_qkv(generator, n, m, heads=(4, 2), features=(8, 5))
    options = {
        "segments": SEGMENTS,
        "key_mask": random_key_mask(generator, m),
        "bias": torch.randn(1, 4, n, m, dtype=torch.float64, generator=generator),
        "alibi": torch.rand(4, dtype=torch.float64, generator=generator),
        "softcap": 2.0,
        "sink": torch.randn(4, dtype=torch.float64, generator=generator),
    }
    inputs = [*qkv, *(options[name].requires_grad_() for name in ("bias", "alibi", "sink"))]
    found, lse = attention(*qkv, pattern, kernel="loop", return_lse=True, **options)
    exact, exact_lse = definition(*qkv, pattern.mask(n, m), **options)
    torch.testing.assert_close((found, lse), (exact, exact_lse.detach()))
    cotangent = torch.randn(found.shape, dtype=found.dtype, generator=generator)
    torch.testing.assert_close(
        torch.autograd.grad(found, inputs, cotangent), torch.autograd.grad(exact, inputs, cotangent)
    )


@pytest.mark.parametrize("shape", [(2, 1, 110, 110), (1, 4, 1, 110), (2, 1, 110, 1), (1, 1, 1, 1)])
def test_a_bias_for_all_is_shared_by_the_documents(shape, generator):
    qkv = random_qkv(generator, 110, 110)
    bias = torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_()
    found = attention(*qkv, Causal(), kernel="loop", segments=SEGMENTS, bias=bias)
    exact, _ = definition(*qkv, Causal().mask(110, 110), segments=SEGMENTS, bias=bias)
    torch.testing.assert_close(found, exact)
    torch.testing.assert_close(
        torch.autograd.grad(found.sin().sum(), bias), torch.autograd.grad(exact.sin().sum(), bias)
    )


def test_a_document_too_long_for_a_mask_goes_to_a_kernel_without(generator):
    qkv = random_qkv(generator, 1100, 1100, heads=(1, 1), batch=1)
    segments = torch.zeros(1, 1100, dtype=torch.long)
    segments[0, 1050:] = 1
    explanation = explain(*qkv, Window(9), kernel="loop", segments=segments)
    assert not [line for line in explanation.caveats if "1050 x 1050" in line]
    found = attention(*qkv, Window(9), kernel="loop", segments=segments)
    exact, _ = definition(*qkv, Window(9).mask(1100, 1100), segments=segments)
    torch.testing.assert_close(found, exact)
    short = explain(*qkv, Causal(), kernel="loop", segments=segments, key_mask=segments > 0)
    assert [line for line in short.caveats if "mask of 50 x 50" in line]


def test_executed_is_what_the_documents_take_and_auto_takes_it(generator):
    qkv = [x.detach() for x in random_qkv(generator, 110, 110)]
    pairs = sum(n * n for n in LENGTHS) + 110**2
    explanation = explain(*qkv, segments=SEGMENTS)
    assert explanation.kernel == "loop"
    assert pairs % 2 == 0, "two sequences share what they execute without a rest"
    assert explanation.cost.executed == pairs * 4 * 2 * (8 + 8)
    assert explanation.cost.executed == flops(lambda: attention(*qkv, segments=SEGMENTS))


@pytest.mark.parametrize("pattern", RELATIVE[:3], ids=str)
def test_bytes_are_those_of_all_that_is_multiplied(pattern, generator):
    qkv = [x.detach().float() for x in random_qkv(generator, 110, 110)]
    options = Options(segments=SEGMENTS)
    counted = moved(lambda: kernels.kernel("loop").run(*qkv, pattern, options), qkv)
    assert counted == explain(*qkv, pattern, segments=SEGMENTS, kernel="loop").cost.bytes


@pytest.mark.parametrize(
    ("pattern", "options", "reason"),
    [
        (Causal(), {}, "there are no segments"),
        (patterns.pattern("fixed"), {"segments": SEGMENTS}, "depends on where it stands"),
        (Causal(), {"segments": SEGMENTS, "dropout_p": 0.5}, "dropout drops"),
        (Causal(), {"segments": numbered((0, 1, 0, 2, 3, 4))}, "segment 0 of sequence 0 lies in"),
    ],
)
def test_what_is_no_loop_over_documents_is_refused_in_words(pattern, options, reason, generator):
    qkv = random_qkv(generator, 110, 110)
    with pytest.raises(UnsupportedOption, match=f"kernel 'loop' cannot .*{reason}"):
        attention(*qkv, pattern, kernel="loop", **options)


def test_nothing_is_no_documents():
    empty = torch.zeros(0, 2, 5, 8)
    with pytest.raises(UnsupportedOption, match="nothing in the documents"):
        attention(empty, empty, empty, kernel="loop", segments=torch.zeros(0, 5, dtype=torch.long))


def test_what_has_no_keys_or_no_queries_takes_nothing(generator):
    qkv = [x.detach() for x in random_qkv(generator, 50, 110)]
    bias = torch.zeros(1, 1, 50, 110, dtype=torch.float64)
    explanation = explain(*qkv, segments=SEGMENTS, bias=bias, kernel="loop")
    # The last 50 tokens are 38 of the 65 and all of the 12.
    assert explanation.cost.executed == (38 * 65 + 12 * 12 + 50 * 110) * 4 * 2 * (8 + 8)


def test_without_segments_there_is_one_document():
    dims = Dims(length=50, kv_length=110, head_dim=8)
    loop, sdpa = kernels.kernel("loop"), kernels.kernel("sdpa")
    assert loop.cost(Causal(), dims) == sdpa.cost(Causal(), dims)
    assert len(loop.caveats(Call(Causal(), dims, Options()))) == 1
