"""Sliders, boxes and choices: what they set, what follows, what they refuse."""

import pytest
from tests.report.calculator.page_in_chromium import (
    ERRORS,
    PAINTED,
    answers,
    put,
    shown,
    state,
    type_into,
    wrong,
)

from attncost.cost.planning import Situation, longest
from attncost.cost.reading import preset

MEMORY = 80 << 30


@pytest.fixture(scope="module")
def page(browser, calculator):
    with shown(browser, calculator) as seen:
        yield seen.page
        assert (seen.requests, seen.errors) == ([], [])


@pytest.fixture(autouse=True)
def as_at_first(page):
    page.click("#reset")
    page.evaluate(PAINTED)


def test_the_answer_is_the_one_of_the_plan(page):
    model = preset("llama-3-8b")
    page.select_option("#preset", "llama-3-8b")
    put(page, length=8192, memory=MEMORY, work="prefill", kernel="fused")
    fit = longest(model, Situation(), memory=MEMORY)
    assert f"{fit.greatest:,} tokens" in answers(page)
    assert f"the {fit.limit} is in the way" in answers(page)
    put(page, work="training")
    assert "Not even one token fits into 80 GiB" in answers(page)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("length", "8k", 8192),
        ("length", "1e6", 1_000_000),
        ("length", "131072", 131_072),
        ("length", "131,072", 131_072),
        ("memory", "24GiB", 24 << 30),
        ("memory", "0.5 TB", 500_000_000_000),
    ],
)
def test_a_box_takes_a_number_as_people_type_it(page, name, text, value):
    type_into(page, name, text)
    assert state(page, name) == (value,)
    assert not page.locator(f"#{name}-wrong").is_visible()


@pytest.mark.parametrize(
    "text", ["", "many", "-1", "0", "1e99", "8q", "NaN", "<b>8</b>", "9" * 400]
)
def test_a_mistake_is_said_beside_its_box_and_the_last_good_value_stays(page, text):
    type_into(page, "length", "4096")
    before = answers(page)
    type_into(page, "length", text)
    assert "must" in wrong(page, "length")
    assert "\n" not in wrong(page, "length")
    assert len(wrong(page, "length")) < 130
    assert page.get_attribute("#length", "aria-invalid") == "true"
    assert state(page, "length") == (4096,)
    assert answers(page) == before
    page.focus("#length")
    page.keyboard.press("Escape")
    assert page.input_value("#length") == "4,096"


def test_a_slider_moves_by_keys_and_its_box_follows(page):
    page.focus("#length-slider")
    (before,) = state(page, "length")
    page.keyboard.press("ArrowRight")
    page.evaluate(PAINTED)
    (after,) = state(page, "length")
    assert before < after < 1.2 * before
    assert page.input_value("#length") == f"{after:,}"
    assert page.get_attribute("#length-slider", "aria-valuetext") == f"{after:,} tokens"
    page.keyboard.press("Home")
    page.evaluate(PAINTED)
    assert state(page, "length") == (1,)


def test_the_size_of_a_head_follows_until_it_is_set_by_hand(page):
    put(page, d_model=4096, heads=32, kv_heads=32)
    put(page, d_model=8192)
    assert state(page, "head_dim", "kv_heads") == (256, 32)
    type_into(page, "head_dim", "128")
    put(page, heads=16)
    # As many heads of keys as of queries remain as many.
    assert state(page, "head_dim", "kv_heads") == (128, 16)
    page.click(".follows")
    page.evaluate(PAINTED)
    assert state(page, "head_dim") == (512,)


def test_heads_of_keys_always_divide_the_heads(page):
    put(page, heads=32, kv_heads=8)
    type_into(page, "kv_heads", "5")
    assert "5" in wrong(page, "kv_heads")
    assert state(page, "kv_heads") == (8,)
    put(page, heads=12)
    assert state(page, "kv_heads") == (6,)
    page.focus("#kv_heads-slider")
    seen = set()
    page.keyboard.press("Home")
    for _ in range(8):
        page.evaluate(PAINTED)
        seen.add(state(page, "kv_heads")[0])
        page.keyboard.press("ArrowRight")
    assert seen == {1, 2, 3, 4, 6, 12}


def test_only_what_changes_something_is_asked_for(page):
    put(page, attention="causal", compared="none", work="prefill")
    assert not page.locator("#width").is_visible()
    assert not page.locator("#optimizer").is_visible()
    put(page, compared="window", work="training")
    assert page.locator("#width").is_visible()
    assert page.locator("#optimizer").is_visible()
    assert not page.locator("#kv").is_visible()


def test_a_device_brings_its_memory_and_own_numbers_their_boxes(page):
    page.select_option("#device", "a100-sxm-40gb")
    page.evaluate(PAINTED)
    assert state(page, "memory") == (40_000_000_000,)
    assert not page.locator("#peak").is_visible()
    page.select_option("#device", "own")
    page.evaluate(PAINTED)
    type_into(page, "peak", "312T")
    assert state(page, "peak", "memory") == (312e12, 40_000_000_000)


def test_dragging_over_a_chart_sets_the_length(page):
    page.evaluate("scrollTo(0, 0)")
    box = page.locator(".chart").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 60)
    page.mouse.down()
    page.evaluate(PAINTED)
    (left,) = state(page, "length")
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 60)
    page.mouse.up()
    page.evaluate(PAINTED)
    assert state(page, "length")[0] > 4 * left


def test_what_cannot_be_read_from_a_mechanism_is_said(page):
    put(page, attention="linear", compared="none")
    assert "There is no formula of the memory of" in answers(page)
    assert page.evaluate(ERRORS) == ""


def test_what_steps_of_tiles_hide_is_not_called_never(page):
    put(page, attention="strided", stride=128, length=8192)
    said = answers(page)
    assert "it does not take half of all up to 16,384 tokens" in said
    assert "never takes" not in said
