import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attncost import ShapeError, UnknownName
from attncost.measure.sweep.case import Case
from attncost.measure.sweep.layer import layer_subjects
from attncost.mechanisms.spelling import known


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
    found = ("naive", *known())
    assert [subject.labels for subject in subjects] == [
        {"attention": name, "qkv": qkv} for name in found for qkv in ("separate", "fused")
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
    layer, x = subject.prepare(Case(length=9)).func, subject.prepare(Case(length=9)).args[0]
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
    ],
)
def test_what_is_not_known_is_refused(wishes, error, reason):
    with pytest.raises(error, match=reason):
        layer_subjects(**{"d_model": 16, "heads": 2, **wishes})
