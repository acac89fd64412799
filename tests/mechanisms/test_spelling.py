import pytest
from tests.every import COMPOSED, MECHANISMS, PATTERNS

from attncost import Linformer, ShapeError, UnknownName, Window
from attncost.mechanisms.spelling import known, spelled, spelling

PYTHON = [
    one
    for one in PATTERNS
    if one in COMPOSED or hasattr(one, "rule") or getattr(one, "layout", False)
]


@pytest.mark.parametrize("attention", [*PATTERNS, *MECHANISMS], ids=str)
def test_what_is_written_can_be_read_back(attention):
    if attention in PYTHON:
        assert spelling(attention) == str(attention)
    else:
        assert spelled(spelling(attention)) == attention


def test_parameters_have_defaults():
    assert spelled("window:ahead=2") == Window(ahead=2)
    assert spelled("linformer") == Linformer()
    assert {"full", "window", "linformer"} <= set(known())


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        ("windw", UnknownName, "did you mean 'window'"),
        ("window:widht=3", UnknownName, "did you mean 'width'"),
        ("window:width", ShapeError, "width of window must be a whole number, .* got ''"),
        ("window:width=-3", ShapeError, "width must be at least 1 .*, got -3"),
    ],
)
def test_a_mistake_is_explained(text, error, reason):
    with pytest.raises(error, match=reason):
        spelled(text)
