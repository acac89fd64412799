import re

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import attncost as ac
from attncost import ShapeError, UnknownName, UnsupportedOption
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.layer import layer_subjects
from attncost.mechanisms.spelling import runnable


def outputs(n, **wishes):
    with torch.inference_mode():
        subjects = layer_subjects(d_model=64, heads=4, **wishes)
        return {subject.name: subject.prepare(Case(length=n))() for subject in subjects}


def flops(subject, n):
    call = subject.prepare(Case(length=n))
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def test_everything_that_is_found_is_a_subject():
    subjects = layer_subjects(d_model=16, heads=2)
    found = ("naive", *runnable())
    assert [(subject.labels["attention"], subject.labels["qkv"]) for subject in subjects] == [
        (name, qkv) for name in found for qkv in ("separate", "fused")
    ]
    assert subjects[0].name == "naive, separate qkv"
    for subject in subjects:
        assert subject.prepare(Case(length=8))().shape == (1, 8, 16)
        assert subject.predict(Case(length=8)).linear == 8 * 8 * 16**2
        assert subject.predict(Case(length=8)).core > 0


def test_naive_and_fused_attention_with_any_projection_compute_the_same():
    found = outputs(33, attentions=["naive", "full", "window:width=65,ahead=32"])
    assert len(found) == 6
    first, *others = found.values()
    for other in others:
        torch.testing.assert_close(other, first, rtol=1e-5, atol=1e-5)


def test_the_layer_is_the_definition_written_out():
    (found,) = outputs(9, attentions=["naive"], qkv=["separate"]).values()
    (subject,) = layer_subjects(d_model=64, heads=4, attentions=["naive"], qkv=["separate"])
    call = subject.prepare(Case(length=9))
    layer, (x,) = call.module, call.inputs
    q, k, v = (x @ one.weight.T + one.bias for one in layer.project.each)
    heads = [slice(16 * i, 16 * i + 16) for i in range(4)]
    mixed = [torch.softmax(q[0, :, h] @ k[0, :, h].T / 4, dim=-1) @ v[0, :, h] for h in heads]
    expected = torch.cat(mixed, -1) @ layer.output.weight.T + layer.output.bias
    torch.testing.assert_close(found[0], expected, rtol=1e-5, atol=1e-5)


def test_a_pattern_really_hides_what_it_hides():
    found = outputs(32, attentions=["full", "causal", "window:width=4"], qkv=["fused"])
    full, causal, window = (x[0] for x in found.values())
    torch.testing.assert_close(causal[-1], full[-1], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(window[:4], causal[:4], rtol=1e-5, atol=1e-5)
    assert not torch.allclose(causal[0], full[0], atol=1e-3)
    assert not torch.allclose(window[-1], causal[-1], atol=1e-3)


@pytest.mark.parametrize("qkv", ["separate", "fused"])
@pytest.mark.parametrize("n", [1, 7, 64])
def test_the_formula_counts_what_pytorch_counts_on_the_naive_layer(n, qkv):
    (subject,) = layer_subjects(d_model=64, heads=4, attentions=["naive"], qkv=[qkv])
    predicted = subject.predict(Case(length=n))
    assert predicted.linear + predicted.core == flops(subject, n)
    assert predicted.core == 4 * n * n * 64


def test_the_formula_of_a_window_is_what_its_kernel_executes():
    full, window = layer_subjects(
        d_model=64, heads=4, attentions=["full", "window:width=16"], qkv=["fused"]
    )
    assert full.predict(Case(length=1024)).core == 4 * 1024**2 * 64
    assert (
        4 * 1024 * 16 * 64
        <= window.predict(Case(length=1024)).core
        < full.predict(Case(length=1024)).core / 2
    )


def test_every_kernel_of_every_attention_is_a_subject_and_computes_the_same():
    kernels = ("auto", "sdpa", "folded", "reference")
    names = ["naive", "full", "window:width=8", "linformer:rank=4"]
    wishes = {"attentions": names, "qkv": ["fused"], "kernels": kernels}
    found = outputs(40, **wishes)
    assert list(found) == [
        "naive, fused qkv",
        *(
            f"{name}, fused qkv{kernel}"
            for name in ("full", "window:width=8")
            for kernel in ("", ", sdpa kernel", ", folded kernel", ", reference kernel")
        ),
        "linformer:rank=4, fused qkv",
    ]
    for name, output in found.items():
        plain = found[f"{name.partition(', ')[0]}, fused qkv"]
        torch.testing.assert_close(output, plain, rtol=1e-5, atol=1e-5)


def test_the_label_says_which_kernel_runs_and_where_another_takes_over():
    subjects = layer_subjects(
        d_model=512,
        heads=8,
        attentions=["naive", "full", "window:width=64", "linformer"],
        qkv=["fused"],
        kernels=["auto", "reference"],
    )
    labels = {subject.name: subject.labels["kernel"] for subject in subjects}
    changes = labels.pop("window:width=64, fused qkv")
    assert labels == {
        "naive, fused qkv": "naive",
        "full, fused qkv": "sdpa",
        "full, fused qkv, reference kernel": "reference",
        "window:width=64, fused qkv, reference kernel": "reference",
        "linformer, fused qkv": "linformer",
    }
    first = int(re.fullmatch(r"sdpa, folded from ([\d,]+)", changes)[1].replace(",", ""))
    q = [torch.empty(1, 8, n, 64, device="meta") for n in (first // 2, first)]
    assert [ac.explain(x, x, x, ac.Window(64)).kernel for x in q] == ["sdpa", "folded"]


def test_random_numbers_of_the_caller_are_left_alone_and_weights_are_always_the_same():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = outputs(8, attentions=["naive", "linformer:rank=4"])
    assert torch.equal(torch.rand(3), expected)
    second = outputs(8, attentions=["naive", "linformer:rank=4"])
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize(
    ("wishes", "error", "reason"),
    [
        ({"heads": 5}, ShapeError, "got 5 heads for 16 features"),
        ({"heads": 0}, ShapeError, "got 0 heads"),
        ({"attentions": ["nave"]}, UnknownName, "did you mean 'naive'"),
        ({"attentions": ["window:width=x"]}, ShapeError, "must be a whole number"),
        ({"attentions": ["window:wide=1"]}, UnknownName, "did you mean 'width'"),
        ({"attentions": ["naive:width=1"]}, ShapeError, "naive takes no parameters"),
        ({"qkv": ["joint"]}, UnknownName, "Known: fused, separate"),
        ({"attentions": ["nystrom"]}, UnsupportedOption, "nystrom is priced and not run here"),
        ({"attentions": ["linear:causal=2"]}, ShapeError, "causal"),
        ({"kernels": ["foldd"]}, UnknownName, "did you mean 'folded'"),
        ({"kernels": ["loop"]}, UnsupportedOption, "'loop' cannot run any of them here: it takes"),
    ],
)
def test_what_is_not_known_is_refused(wishes, error, reason):
    with pytest.raises(error, match=reason):
        layer_subjects(**{"d_model": 16, "heads": 2, **wishes})
