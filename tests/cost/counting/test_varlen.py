"""Documents side by side: brute force over the dense mask of each is the oracle."""

from inspect import signature

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.nn.attention import varlen
from torch.nn.attention.varlen import varlen_attn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from attncost.cost.counting.apis.varlen import VarlenAttention

HEADS, SHARED, FEATURES = 4, 2, 16
QUERIES, KEYS = [3, 1, 7, 0], [3, 9, 5, 4]
# Early versions share no heads and know no pages.
SHARES = pytest.mark.skipif(
    "enable_gqa" not in signature(varlen_attn).parameters,
    reason="this version of PyTorch shares no heads in varlen_attn",
)
WINDOWS = [(-1, -1), (-1, 0), (2, 0), (2, 1), (-1, 3), (0, -1), (0, 0)]


class Calls(TorchFunctionMode):
    """Reads every call of the operation."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in VarlenAttention().functions():
            self.found += VarlenAttention().read(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def starts(sizes):
    return torch.tensor([0, *sizes], dtype=torch.int32).cumsum(0, dtype=torch.int32)


def qkv(*, heads=HEADS, device="meta"):
    q = torch.zeros(sum(QUERIES), HEADS, FEATURES, dtype=torch.float16, device=device)
    k = torch.zeros(sum(KEYS), heads, FEATURES, dtype=torch.float16, device=device)
    return q, k, k


def counted(*tensors, call=varlen_attn, **options):
    """Call it on meta tensors, for there is no kernel for a CPU."""
    with Calls() as calls:
        call(*tensors, starts(QUERIES), starts(KEYS), max(QUERIES), max(KEYS), **options)
    (found,) = calls.found
    return found


def brute_force(window, keys=KEYS):
    """Count the pairs of all documents, one by one; the last query is the last key."""
    left, right = window
    total = 0
    for n, m in zip(QUERIES, keys, strict=True):
        distance = torch.arange(m) - (torch.arange(n)[:, None] + m - n)
        reads = torch.ones_like(distance, dtype=torch.bool)
        if left >= 0:
            reads &= distance >= -left
        if right >= 0:
            reads &= distance <= right
        total += int(reads.sum())
    return total


@pytest.mark.parametrize("window", WINDOWS)
def test_pairs_are_those_of_every_document(window):
    call = counted(*qkv(), window_size=window)
    assert call.useful == call.executed == HEADS * brute_force(window)
    assert call.dense == HEADS * len(QUERIES) * max(QUERIES) * max(KEYS)
    assert call.forward().useful == 4 * FEATURES * call.useful
    assert call.unknown is None


@SHARES
def test_only_keys_that_are_used_are_read():
    used = [1, 9, 2, 0]
    numbers = torch.tensor(used, dtype=torch.int32)
    call = counted(*qkv(), window_size=(-1, 0), seqused_k=numbers)
    assert call.useful == HEADS * brute_force((-1, 0), used)


@SHARES
def test_shared_heads_and_pages_of_keys():
    q, k, v = qkv(heads=SHARED)
    call = counted(q, k, v, enable_gqa=True)
    assert (call.dims.heads, call.dims.kv_heads) == (HEADS, SHARED)
    assert call.bytes == 2 * FEATURES * (2 * HEADS * sum(QUERIES) + 2 * SHARED * sum(KEYS))
    pages = torch.zeros(6, 4, SHARED, FEATURES, dtype=torch.float16, device="meta")
    options = {"block_table": torch.zeros(4, 3, dtype=torch.int32, device="meta")}
    options |= {"seqused_k": torch.tensor(KEYS), "enable_gqa": True}
    assert counted(q, pages, pages, **options).useful == HEADS * brute_force((-1, -1))


def test_a_result_may_be_written_where_it_is_told():
    if not hasattr(varlen, "varlen_attn_out"):
        pytest.skip("this version of PyTorch has no varlen_attn_out")
    q, k, v = qkv()
    call = counted(torch.empty_like(q), q, k, v, call=varlen.varlen_attn_out, window_size=(2, 0))
    assert call.useful == HEADS * brute_force((2, 0))


def test_a_dispatch_mode_meets_the_same_operation():
    functions, found = VarlenAttention().functions(), []

    class Operations(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func in functions:
                found.extend(VarlenAttention().read(*args, **(kwargs or {})))
            return func(*args, **(kwargs or {}))

    with Operations():
        varlen_attn(*qkv(), starts(QUERIES), starts(KEYS), 7, 9, window_size=(-1, 0))
    assert [call.useful for call in found] == [HEADS * brute_force((-1, 0))]


@pytest.mark.parametrize("fake", [True, False])
def test_where_documents_end_may_be_unknown(fake):
    unknown = starts(QUERIES).to("meta")
    if fake:
        with FakeTensorMode():
            unknown = torch.zeros(len(QUERIES) + 1, dtype=torch.int32)
    args = (*qkv(), unknown, starts(KEYS), max(QUERIES), max(KEYS), True)
    (call,) = VarlenAttention().read(*args)
    assert call.unknown == "where documents end is not known."
    n, m = max(QUERIES), max(KEYS)
    assert call.useful == len(QUERIES) * HEADS * (n * m - n * (n - 1) // 2) < call.dense
    assert call.useful >= HEADS * brute_force((-1, 0))


def test_a_gradient_is_asked_for_where_tensors_have_one():
    q, k, v = (x.requires_grad_() for x in qkv())
    assert counted(q, k, v).learns == (True, True, True)
    with torch.no_grad():
        assert counted(q, k, v).learns == (False, False, False)
