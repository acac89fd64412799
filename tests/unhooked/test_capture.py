"""Compiled models, and what is no model, are refused in words."""

import pytest
import torch
from tests.integrations.hf import zoo

from attncost import ShapeError, UnsupportedOption
from attncost.view.capture.capture import capture


@pytest.fixture(scope="module")
def bert():
    return zoo.ZOO["bert"](num_hidden_layers=1)


def test_a_compiled_model_is_refused(bert):
    message = "the model is compiled, .* pass the model as it was before torch.compile"
    with pytest.raises(UnsupportedOption, match=message):
        capture(torch.compile(bert, backend="eager"))


def test_a_model_with_a_compiled_part_is_refused():
    own = zoo.ZOO["bert"](num_hidden_layers=2)
    own.encoder.layer[1].compile(backend="eager")
    with pytest.raises(UnsupportedOption, match=r"encoder\.layer\.1 is compiled"):
        capture(own)


def test_a_compiled_function_around_a_model_returns_the_same(bert):
    batch = zoo.inputs("bert")
    compiled = torch.compile(lambda **inputs: bert(**inputs).last_hidden_state, backend="eager")
    with torch.no_grad():
        before = compiled(**batch)
        with capture(bert):
            within = compiled(**batch)
        after = compiled(**batch)
    assert torch.equal(before, within)
    assert torch.equal(before, after)


def test_what_is_no_model_or_choice_is_refused(bert):
    with pytest.raises(ShapeError, match="capture needs a model, got a str"):
        capture("bert")
    with pytest.raises(ShapeError, match="layers must be numbers such as"):
        capture(bert, 3)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"rows": "frist"}, r"rows must be numbers such as \[0, 3\] or \"last\", got 'frist'"),
        ({"rows": [0, "last"]}, r"rows must be numbers .*, got \[0, 'last'\]"),
        ({"rows": []}, r"rows must be numbers .*, got \[\]"),
        ({"heads": 3}, r"heads must be numbers such as \[0, 3\], got 3"),
        ({"heads": "03"}, "heads must be numbers .*, got '03'"),
    ],
    ids=["typo", "a word", "no row", "one head", "text"],
)
def test_rows_and_heads_that_are_no_numbers_are_refused_before_the_model_runs(bert, asked, message):
    with pytest.raises(ShapeError, match=message):
        capture(bert, **asked)
