"""A layer in every mode, type and batch, against plain float64 mathematics and against counts."""

from itertools import product

import pytest
import torch
from torch.nn.functional import linear
from torch.utils.flop_counter import FlopCounterMode

import attncost as ac
from attncost import UnsupportedOption
from attncost.measure.held.memory import MemoryMonitor
from attncost.measure.subjects.case import DTYPES, Case
from attncost.measure.subjects.layer import layer_subjects

KERNELS = ("auto", "sdpa", "folded", "reference")
HEADS = 4


def subjects(*names, qkv=("fused",), kernels=("auto",)):
    return layer_subjects(d_model=32, heads=HEADS, attentions=names, qkv=qkv, kernels=kernels)


def plain(weights, x, mask=None):
    """Write the layer out: all scores of each head, then their softmax."""
    q, k, v = linear(x, weights["in"], weights["in bias"]).chunk(3, -1)
    q, k, v = (one.unflatten(-1, (HEADS, -1)).transpose(1, 2) for one in (q, k, v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
    return linear(mixed, weights["out"], weights["out bias"])


def weights_of(module):
    joint, output = module.project.joint, module.output
    found = {"in": joint.weight, "in bias": joint.bias}
    found |= {"out": output.weight, "out bias": output.bias}
    return {name: one.detach().double().requires_grad_() for name, one in found.items()}


def count(call, *, training):
    with torch.inference_mode(False), torch.set_grad_enabled(training):
        return ac.count(call.module, *call.inputs, training=training)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["full", "window:width=5"])
def test_training_returns_the_gradients_of_plain_float64_attention(name, kernel):
    (subject,) = subjects(name, kernels=[kernel])
    call = subject.prepare(Case(length=24, batch=2, mode="training"))
    weights, x = weights_of(call.module), call.inputs[0].detach().double().requires_grad_()
    distance = torch.arange(24)[:, None] - torch.arange(24)
    mask = None if name == "full" else (distance >= 0) & (distance < 5)
    plain(weights, x, mask).sum().backward()
    learned = [one for one in call.held if one.requires_grad]
    found = {id(one): gradient for one, gradient in zip(learned, call(), strict=True)}
    joint, output = call.module.project.joint, call.module.output
    pairs = {"in": joint.weight, "in bias": joint.bias, "out": output.weight}
    for one, expected in [
        (call.inputs[0], x.grad),
        *((pairs[key], weights[key].grad) for key in pairs),
        (output.bias, weights["out bias"].grad),
    ]:
        torch.testing.assert_close(found[id(one)].double(), expected, rtol=1e-4, atol=1e-4)
        assert one.grad is None


@pytest.mark.parametrize("qkv", ["separate", "fused"])
@pytest.mark.parametrize(
    "name", ["naive", "causal", "window:width=5", "strided:stride=4", "linear:causal=1"]
)
def test_a_decoded_token_is_the_last_row_of_the_causal_forward_pass(name, qkv):
    written = "causal" if name == "naive" else name
    (decoding,), (forward,) = subjects(name, qkv=[qkv]), subjects(written, qkv=[qkv])
    step = decoding.prepare(Case(length=19, batch=2, mode="decode"))
    whole = forward.prepare(Case(length=20, batch=2))
    expected = whole()[:, -1:]
    for _ in range(3):
        torch.testing.assert_close(step(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["naive", "causal", "window:width=6", "linear:causal=1"])
def test_a_cache_does_not_grow_from_call_to_call(name):
    (subject,) = subjects(name)
    step = subject.prepare(Case(length=200, mode="decode"))
    step()
    with MemoryMonitor("cpu") as meter:
        for _ in range(50):
            step()
    assert meter.live == 0
    assert meter.peak < 16 * 1024


def test_gradients_are_gone_when_the_next_call_begins():
    (subject,) = subjects("causal")
    call = subject.prepare(Case(length=64, mode="training"))
    call()
    peaks = []
    for times in (1, 5):
        with MemoryMonitor("cpu") as meter:
            for _ in range(times):
                call()
        assert meter.live == 0
        peaks.append(meter.peak)
    assert peaks[0] == peaks[1]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("naive", "auto"),
        ("linformer:rank=4", "auto"),
        ("linear", "auto"),
        ("linear:feature_map=softmax,causal=1", "auto"),
        *product(["full", "window:width=8", "bigbird:block=8"], KERNELS),
    ],
)
def test_the_formula_is_what_is_counted_forward_and_back(name, kernel, training):
    (subject,) = subjects(name, kernels=[kernel])
    case = Case(length=72, batch=2, mode="training" if training else "forward")
    predicted = subject.predict(case)
    counted = count(subject.prepare(case), training=training)
    assert predicted.linear + predicted.core == counted.executed
    assert predicted.linear == (3 if training else 1) * 8 * 2 * 72 * 32**2


@pytest.mark.parametrize("training", [False, True])
def test_pytorch_counts_the_same_on_the_naive_layer(training):
    (subject,) = subjects("naive")
    case = Case(length=24, batch=3, mode="training" if training else "forward")
    call, predicted = subject.prepare(case), subject.predict(case)
    with FlopCounterMode(display=False) as counter:
        output = call.module(*call.inputs).sum()
        if training:
            output.backward()
    assert counter.get_total_flops() == predicted.linear + predicted.core


def test_a_fused_kernel_computes_its_scores_again_and_the_reference_does_not():
    case = Case(length=48, mode="training")
    fused, reference = subjects("full", kernels=["sdpa", "reference"])
    forward = 4 * 48**2 * 32
    assert 2 * fused.predict(case).core == 7 * forward
    assert reference.predict(case).core == 3 * forward


@pytest.mark.parametrize(("name", "read"), [("naive", 33), ("causal", 33), ("window:width=8", 8)])
def test_one_token_more_costs_its_projections_and_the_keys_that_it_reads(name, read):
    (subject,) = subjects(name)
    case = Case(length=32, batch=2, mode="decode")
    found = subject.predict(case)
    assert found.linear == 2 * 8 * 32**2
    assert found.core == 2 * 4 * read * 32
    keys_and_values = 2 * 2 * read * 32 * 4
    assert keys_and_values < found.bytes < 2 * keys_and_values


def test_one_token_more_costs_the_same_beside_a_state_however_many_came_before():
    (subject,) = subjects("linear:causal=1")
    for n in (1, 200):
        case = Case(length=n, batch=2, mode="decode")
        found, step = subject.predict(case), subject.prepare(case)
        with torch.inference_mode(), FlopCounterMode(display=False) as counter:
            step()
        assert found.linear == 2 * 8 * 32**2
        # Written to the state, or read one by one, and read.
        assert found.core >= 2 * 4 * 32 * 8
        assert found.linear + found.core == counter.get_total_flops()
        state = 2 * HEADS * 8 * 8 * 4
        assert state < found.bytes < 4 * state


def test_bytes_follow_the_type():
    (subject,) = subjects("full")
    single, half = (subject.predict(Case(length=64, dtype=name)) for name in DTYPES[::2])
    assert single.bytes == 4 * 4 * 64 * 32 == 2 * half.bytes


@pytest.mark.parametrize("mode", ["forward", "training", "decode"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_weights_inputs_and_outputs_are_of_the_type_asked_for(dtype, mode):
    for subject in subjects("naive", "causal", "window:width=4", "linear:causal=1"):
        case = Case(length=16, batch=3, dtype=dtype, mode=mode)
        output = subject.prepare(case)()
        outputs = output if isinstance(output, tuple) else (output,)
        assert {one.dtype for one in outputs} == {case.torch_dtype}
        assert all(one.isfinite().all() for one in outputs)
        if mode != "training":
            assert output.shape == (3, 1 if mode == "decode" else 16, 32)


@pytest.mark.parametrize("name", ["full", "longformer", "linformer", "linear"])
def test_what_cannot_write_token_by_token_is_refused_before_it_runs(name):
    (subject,) = subjects(name)
    for ask in (subject.predict, subject.prepare):
        with pytest.raises(UnsupportedOption, match=r"run the whole sequence\.$"):
            ask(Case(length=64, mode="decode"))


def test_a_call_leaves_modes_and_defaults_as_they_were_and_works_inside_any():
    state = torch.get_rng_state()
    for mode in ("forward", "training", "decode"):
        (subject,) = subjects("linear:causal=1" if mode == "decode" else "causal")
        with torch.inference_mode():
            call = subject.prepare(Case(length=16, mode=mode))
            inside = call()
            assert torch.is_inference_mode_enabled()
        outside = call()
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()
        with torch.device("meta"):
            subject.prepare(Case(length=16, mode=mode))
            subject.predict(Case(length=16, mode=mode))
        for one, other in zip(inside, outside, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_default_device().type == "cpu"
    assert torch.get_default_dtype() == torch.float32
