"""What operations hold inside, against the allocator's own events, to the byte."""

from itertools import islice

import pytest
import torch
from tests.cost.memory import layer_calls, simple_calls  # noqa: F401 -- they note their calls
from tests.cost.memory.laid import BF16, CALLS, drawn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map_only

from attncost.cost.memory import hidden, registry  # noqa: F401 -- it finds the formulas
from attncost.measure.held.memory import MemoryMonitor

SCRATCH = f"{registry.__package__}.scratch"
OURS = sorted(
    name
    for (name, device), formula in registry._SCRATCH.items()
    if device == "cpu" and (formula is registry.nothing or formula.__module__.startswith(SCRATCH))
)


def storages(values):
    found = [x.untyped_storage() for x in tree_leaves(values) if isinstance(x, torch.Tensor)]
    return {storage._cdata: storage.nbytes() for storage in found}


def held(operation, args, kwargs):
    """Return what a call held beside its arguments and all results, and its results."""
    operation(*args, **kwargs)
    given = storages((args, kwargs))
    with MemoryMonitor("cpu") as meter:
        out = operation(*args, **kwargs)
    results = sum(size for storage, size in storages(out).items() if storage not in given)
    return meter.peak - results, out


def told(name, args, kwargs, out):
    return registry.scratch_of(name, "cpu")(*args, out=out, **kwargs)


def calls_of(name):
    """Return an operation, and arguments for it."""
    packet = getattr(torch.ops.aten, name.removeprefix("aten::"))
    for given in CALLS[name](name):
        args, kwargs = given if isinstance(given[-1], dict) else (given, {})
        # Found beforehand: to look for it, PyTorch writes tensors down, which takes memory.
        overload = torch._C._jit_resolve_packet(name, *args, **kwargs)
        yield getattr(packet, overload), args, kwargs


def words(x):
    """Return what a failure should say of an argument."""
    if isinstance(x, torch.Tensor):
        return f"{x.dtype}{tuple(x.shape)}/{x.stride()}"
    return [words(part) for part in x] if isinstance(x, list | tuple) else x


@pytest.mark.parametrize("name", OURS)
def test_an_operation_holds_what_its_formula_says(name):
    torch.manual_seed(0)
    known = 0
    for operation, args, kwargs in calls_of(name):
        measured, out = held(operation, args, kwargs)
        expected = told(name, args, kwargs, out)
        known += expected is not None
        assert expected in (None, measured), (words(args), kwargs)
    assert known


@pytest.fixture
def switch():
    """Return what switches oneDNN off and on, as on a CPU that has nothing that it needs."""
    before = torch.backends.mkldnn.enabled
    yield lambda enabled: setattr(torch.backends.mkldnn, "enabled", enabled)
    torch.backends.mkldnn.enabled = before


BY_ONEDNN = [
    f"aten::{name}"
    for name in (
        *("mm", "addmm", "bmm", "baddbmm", "mv", "dot", "gelu_backward"),
        "_native_multi_head_attention",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
        "_transformer_encoder_layer_fwd",
    )
]


@pytest.mark.parametrize("name", BY_ONEDNN)
def test_all_is_known_without_onednn_and_with_it_only_what_it_adds_to_is_not(name, switch):
    torch.manual_seed(0)
    known, added = 0, []
    for operation, args, kwargs in calls_of(name):
        if all(not isinstance(x, torch.Tensor) or x.itemsize > 2 for x in args):
            continue
        switch(False)
        alone, out = held(operation, args, kwargs)
        expected = told(name, args, kwargs, out)
        assert expected in (None, alone), words(args)
        switch(True)
        if expected is not None:
            known += 1
            if told(name, args, kwargs, out) is None:
                added.append(held(operation, args, kwargs)[0] - alone)
    assert known
    assert not added or max(added) > 0


def test_pytorch_itself_makes_products_of_up_to_4096_multiply_adds():
    a = drawn(16, 16, dtype=BF16)
    assert told("aten::mm", (a, a), {}, a @ a) == held(torch.mm, (a, a), {})[0] == 0


@pytest.mark.parametrize("name", ["mm", "_scaled_dot_product_flash_attention_for_cpu"])
def test_of_products_in_32_bits_that_onednn_may_round_nothing_is_known(name):
    x = drawn(40, 40) if name == "mm" else drawn(1, 2, 64, 16)
    args = (x, x) if name == "mm" else (x, x, x)
    operation = getattr(torch.ops.aten, name)
    alone, _ = held(operation, args, {})
    torch.backends.mkldnn.matmul.fp32_precision = "bf16"
    try:
        measured, out = held(operation, args, {})
        expected = told(f"aten::{name}", args, {}, out)
    finally:
        torch.backends.mkldnn.matmul.fp32_precision = "none"
    # PyTorch 2.11 may round as well, and holds nothing for it.
    assert expected is None or expected == alone == measured


# Of which PyTorch has no fake form, or none without values.
WITHOUT_FAKES = [
    f"aten::{name}"
    for name in (
        "_local_scalar_dense",
        "_native_multi_head_attention",
        "_transformer_encoder_layer_fwd",
        "nonzero",
    )
]


@pytest.mark.parametrize("name", [name for name in OURS if name not in WITHOUT_FAKES])
def test_a_formula_says_the_same_of_fake_tensors(name):
    mode = FakeTensorMode()
    for operation, args, kwargs in islice(calls_of(name), 0, None, 25):
        expected = told(name, args, kwargs, operation(*args, **kwargs))
        with mode:
            faked = tree_map_only(torch.Tensor, mode.from_tensor, (args, kwargs))
            assert told(name, *faked, operation(*faked[0], **faked[1])) == expected, words(args)


def few(name):
    """Return some calls, one of each size: threads wait for each other on a busy machine."""
    return islice(calls_of(name), 0, 36, 9)


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


MANY = 1 << 15
REDUCED = ["sum", "mean", "prod", "amax", "amin", "any", "all"]


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("count", [MANY - 1, MANY, 3 * MANY])
def test_each_thread_reduces_many_numbers_to_one_of_its_own(name, count):
    operation = getattr(torch.ops.aten, name).default
    measured, out = held(operation, (drawn(count),), {})
    assert told(f"aten::{name}", (drawn(count),), {}, out) == measured


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(
    "name", ["native_layer_norm_backward", "_scaled_dot_product_flash_attention_for_cpu"]
)
def test_each_thread_has_scratch_of_its_own(name):
    for operation, args, kwargs in few(f"aten::{name}"):
        measured, out = held(operation, args, kwargs)
        assert told(f"aten::{name}", args, kwargs, out) == measured


@pytest.mark.usefixtures("two_threads")
def test_a_thread_of_fused_attention_holds_a_sum_for_each_row_unseen_by_the_monitor():
    name = "aten::_scaled_dot_product_flash_attention_for_cpu_backward"
    for operation, args, kwargs in few(name):
        measured, out = held(operation, args, kwargs)
        query = args[1]
        rows = {48: 32, 200: 64, 800: 256, 1: 1}[query.shape[2]]
        other_works = query.shape[0] * query.shape[1] > 1
        unseen = rows * max(4, query.itemsize) if other_works else 0
        assert told(name, args, kwargs, out) == measured + unseen
