import pytest
from tests.every import COMPOSED, MECHANISMS, PATTERNS

from attncost import (
    Linear,
    Linformer,
    Mechanism,
    Pattern,
    ShapeError,
    UnknownName,
    UnsupportedOption,
    Window,
    mechanisms,
    patterns,
)
from attncost.mechanisms import formulas
from attncost.mechanisms.spelling import known, not_run, runnable, spelled, spelling, to_run

FORMULAS = [one for name in formulas.names() for one in formulas.load(name).examples()]

PYTHON = [
    one
    for one in PATTERNS
    if one in COMPOSED or hasattr(one, "rule") or getattr(one, "layout", False)
]


@pytest.mark.parametrize("attention", [*PATTERNS, *MECHANISMS, *FORMULAS], ids=str)
def test_what_is_written_can_be_read_back(attention):
    if attention in PYTHON:
        assert spelling(attention) == str(attention)
    else:
        assert spelled(spelling(attention)) == attention


def test_parameters_have_defaults():
    assert spelled("window:ahead=2") == Window(ahead=2)
    assert spelled("linformer") == Linformer()
    assert {"full", "window", "linformer", "nystrom"} <= set(known())


def test_a_field_of_words_takes_a_word_and_one_of_truth_takes_0_or_1():
    one = spelled("linear:feature_map=softmax,causal=1")
    assert one == Linear(feature_map="softmax", causal=True)
    assert one.causal is True
    assert spelling(one) == "linear:feature_map=softmax,causal=1"
    assert spelled("linear:causal=0") == Linear()
    assert spelling(Linear()) == "linear:feature_map=elu"
    assert spelled("linformer:rank=64,per_head=1") == Linformer(rank=64, per_head=True)


def test_what_is_priced_and_what_runs_are_told_apart():
    assert set(known()) - set(runnable()) == set(formulas.names())
    assert set(runnable()) < {*patterns.names(), *mechanisms.names()}
    assert to_run("linformer:rank=3") == Linformer(3)
    assert all(isinstance(to_run(name), Pattern | Mechanism) for name in runnable())
    for name in formulas.names():
        with pytest.raises(UnsupportedOption) as refused:
            to_run(name)
        assert str(refused.value) == not_run(name) == not_run(spelled(name))
        assert f"{name} is priced and not run here" in not_run(name)
        assert "\n" not in not_run(name)


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        ("windw", UnknownName, "did you mean 'window'"),
        ("window:widht=3", UnknownName, "did you mean 'width'"),
        ("window:width", ShapeError, "width of window must be a whole number, .* got ''"),
        ("window:width=-3", ShapeError, "width must be at least 1 .*, got -3"),
        ("linear:causal=yes", ShapeError, "causal of linear must be 0 or 1, .* got 'yes'"),
        ("linear:causal=2", ShapeError, "causal of linear must be 0 or 1, .* got '2'"),
        ("linear:feature_map=sofmax", UnknownName, "did you mean 'softmax'"),
        ("linear:feature_map=", ShapeError, "must be a word, .* got nothing"),
        ("nystrm", UnknownName, "did you mean 'nystrom'"),
        ("nystrom:landmark=3", UnknownName, "did you mean 'landmarks'"),
        ("reformer:chunk=64,chunk=32", ShapeError, "chunk of reformer is given twice"),
        ("custom", ShapeError, "custom takes more than numbers"),
    ],
)
def test_a_mistake_is_explained(text, error, reason):
    with pytest.raises(error, match=reason):
        spelled(text)
