"""All but the operation on the GPU: what it is given, and where what it returns is put."""

import inspect
from dataclasses import replace

import pytest
import torch
from tests.kernels.corners import keys, numbered
from tests.oracle import definition, random_qkv
from torch._subclasses import FakeTensorMode
from torch.nn.attention.varlen import varlen_attn

from attncost import Causal, Dims, Full, UnsupportedOption, Window, attention, patterns
from attncost.core.options import Options
from attncost.kernels.interface import Call
from attncost.kernels.varlen import Varlen, packed

SEGMENTS = numbered(range(6), (1, 30, 1, 1, 65, 12))
KNOWN = [Full(), Causal(), Window(1), Window(7), Window(33, ahead=16)]


def slow_varlen(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, scale=None, **options):
    """Compute what the manual of `varlen_attn` says, aligned at the last query and key."""
    given = (query, key, value, cu_seq_q, cu_seq_k, max_q, max_k)
    bound = inspect.signature(varlen_attn).bind(*given, scale=scale, **options)
    left, right = bound.arguments["window_size"]
    assert cu_seq_q.dtype == cu_seq_k.dtype == torch.int32
    assert query.shape[1] == key.shape[1] or bound.arguments.get("enable_gqa")
    assert (cu_seq_q[0], cu_seq_k[0]) == (0, 0)
    assert (cu_seq_q[-1], cu_seq_k[-1]) == (len(query), len(key))
    assert (cu_seq_q.diff().max(), cu_seq_k.diff().max()) == (max_q, max_k)
    outs = []
    for (a, b), (c, d) in zip(cu_seq_q.unfold(0, 2, 1), cu_seq_k.unfold(0, 2, 1), strict=True):
        distance = torch.arange(d - c) - (torch.arange(b - a)[:, None] + (d - c) - (b - a))
        mask = torch.ones_like(distance, dtype=torch.bool)
        if left >= 0:
            mask &= distance >= -left
        if right >= 0:
            mask &= distance <= right
        assert mask.any(1).all(), "what its rows are that read nothing, no manual says"
        one = (x.transpose(0, 1)[None] for x in (query[a:b], key[c:d], value[c:d]))
        outs.append(definition(*one, mask, scale)[0][0].transpose(0, 1))
    return torch.cat(outs)


def call(pattern, n=110, m=110, *, heads=(4, 4), features=(8, 8), itemsize=2, **options):
    (h, g), (d, e) = heads, features
    dims = Dims(
        batch=2,
        heads=h,
        kv_heads=g,
        length=n,
        kv_length=m,
        head_dim=d,
        value_dim=e,
        itemsize=itemsize,
    )
    return Call(pattern, dims, Options(**options), device="cuda")


HIDDEN = {
    "nothing": (110, 110, {}),
    "nothing, more keys": (40, 110, {}),
    "nothing, more queries": (110, 40, {}),
    "documents": (110, 110, {"segments": SEGMENTS}),
    "documents, more keys": (40, 110, {"segments": SEGMENTS}),
    "documents, more queries": (110, 40, {"segments": SEGMENTS}),
    "padding on the left": (70, 70, {"key_mask": keys(70, hide=slice(23))}),
    "padding on the left, more queries": (90, 70, {"key_mask": keys(70, hide=slice(23))}),
    "padding on the right": (70, 70, {"key_mask": keys(70, hide=slice(50, None))}),
    "the tail of a cache": (12, 150, {"key_mask": keys(150, hide=slice(100, None))}),
    "one whole sequence": (70, 70, {"key_mask": keys(70, hide=slice(None))}),
}


@pytest.mark.parametrize("pattern", KNOWN, ids=str)
@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("heads", [(4, 4), (4, 2)], ids=str)
def test_packed_documents_come_back_as_the_definition_says(pattern, hidden, heads, generator):
    n, m, options = HIDDEN[hidden]
    refusal = Varlen().refuses(call(pattern, n, m, heads=heads, **options))
    if heads[0] != heads[1] and "enable_gqa" not in inspect.signature(varlen_attn).parameters:
        assert refusal == "PyTorch's varlen_attn shares no heads in this version."
        return
    if refusal is not None:
        assert isinstance(pattern, Window)
        assert "see only a part" in refusal
        assert hidden in ("padding on the right", "the tail of a cache")
        return
    qkv = random_qkv(generator, n, m, heads=heads)
    found = packed(slow_varlen, tuple(qkv), pattern, Options(scale=0.3, **options)).out
    exact, _ = definition(*qkv, pattern.mask(n, m), 0.3, **options)
    torch.testing.assert_close(found, exact)
    cotangent = torch.randn(found.shape, dtype=found.dtype, generator=generator)
    torch.testing.assert_close(
        torch.autograd.grad(found, qkv, cotangent), torch.autograd.grad(exact, qkv, cotangent)
    )


def test_no_readable_key_at_all_is_zero(generator):
    qkv = random_qkv(generator, 9, 9)
    nothing = Options(key_mask=torch.zeros(2, 9, dtype=torch.bool))
    assert not packed(slow_varlen, tuple(qkv), Causal(), nothing).out.any()


def test_executed_is_what_the_documents_read():
    lengths = (1, 30, 1, 1, 65, 12)
    pairs = sum(n * n for n in lengths) + 110**2
    assert Varlen().work(call(Full(), segments=SEGMENTS)).pairs == pairs // 2
    padded = call(Full(), 70, 70, key_mask=keys(70, hide=slice(50, None)))
    assert Varlen().work(padded).pairs == (70 * 50 + 70 * 70) // 2
    assert Varlen().work(call(Window(7))).pairs == Window(7).pairs(110, 110)


def test_it_says_that_it_waits_for_the_gpu():
    assert Varlen().caveats(call(Causal())) == ()
    assert "to the CPU" in Varlen().caveats(call(Causal(), segments=SEGMENTS))[0]


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (replace(call(Causal()), device="cpu"), "NVIDIA GPUs only, not on cpu"),
        (call(patterns.pattern("fixed")), "full, causal and window attention only"),
        (call(Causal(), return_lse=True), "has no return_lse"),
        (call(Causal(), softcap=2.0), "has no softcap"),
        (call(Causal(), itemsize=4), "half precision only"),
        (call(Causal(), features=(8, 5)), "head_dim = value_dim <= 256"),
        (call(Causal(), features=(512, 512)), "head_dim = value_dim <= 256"),
        (call(Causal(), 0, 5), "nothing to lay out"),
        (
            call(Causal(), segments=SEGMENTS, key_mask=torch.ones(2, 110, dtype=torch.bool)),
            "not from both",
        ),
        (call(Causal(), segments=SEGMENTS % 2), "lies in separate runs"),
        (call(Full(), key_mask=keys(110, hide=slice(3, 5))), "between others"),
    ],
)
def test_what_it_does_not_know_is_refused_in_words(one, reason):
    assert reason in (Varlen().refuses(one) or "")


def test_numbers_that_are_not_known_yet_are_refused():
    with FakeTensorMode():
        fake = torch.ones(2, 110, dtype=torch.bool)
    assert "not known yet" in (Varlen().refuses(call(Full(), key_mask=fake)) or "")
    assert "not known yet" in (Varlen().refuses(call(Full(), segments=fake.int())) or "")


def test_a_cpu_is_told_so(generator):
    with pytest.raises(UnsupportedOption, match=r"kernel 'varlen' cannot .* not on cpu"):
        attention(*random_qkv(generator, 9, 9), kernel="varlen")


@pytest.mark.device
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("pattern", KNOWN, ids=str)
@pytest.mark.parametrize("hidden", HIDDEN)
def test_a_gpu_computes_the_same(pattern, hidden, generator):
    n, m, options = HIDDEN[hidden]
    options = {name: x.cuda() for name, x in options.items()}
    if Varlen().refuses(call(pattern, n, m, **options)) is not None:
        pytest.skip("see above")
    qkv = random_qkv(generator, n, m, heads=(4, 4), features=(64, 64))
    half = [x.detach().cuda().to(torch.bfloat16).requires_grad_() for x in qkv]
    found = attention(*half, pattern, kernel="varlen", **options)
    doubles = [x.detach().double().cpu().requires_grad_() for x in half]
    options = {name: x.cpu() for name, x in options.items()}
    exact, _ = definition(*doubles, pattern.mask(n, m), **options)
    torch.testing.assert_close(found.double().cpu(), exact, atol=3e-2, rtol=3e-2)
    gradients = torch.autograd.grad(found.sin().sum(), half)
    for mine, true in zip(gradients, torch.autograd.grad(exact.sin().sum(), doubles), strict=True):
        torch.testing.assert_close(mine.double().cpu(), true, atol=5e-2, rtol=5e-2)
