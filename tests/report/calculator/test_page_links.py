"""Links and files: what one page was set to another one is, and what is none is refused."""

import json

import pytest
from tests.report.calculator.page_in_chromium import (
    ERRORS,
    PAINTED,
    follow,
    put,
    shown,
    state,
    until,
)

BAD_LINKS = [
    "#length=many",
    "#length=-5",
    "#length=1e30",
    "#constructor=1",
    "#__proto__=1",
    "#attention=<img src=x onerror=alert(1)>",
    "#heads=32&kv_heads=5",
    "#work=sleep",
    "#" + "length=1&" * 1000,
    "#head_dim_held=maybe",
]


@pytest.fixture(scope="module")
def page(browser, calculator):
    with shown(browser, calculator) as seen:
        yield seen.page
        assert (seen.requests, seen.errors) == ([], [])


@pytest.fixture(autouse=True)
def as_at_first(page):
    page.click("#reset")
    page.evaluate(PAINTED)


def test_a_link_brings_back_exactly_what_was_set(browser, calculator, page):
    put(page, length=123_457, heads=24, kv_heads=3, attention="causal", compared="window",
        width=777, memory=79_999_999_999, work="decode", head_dim=96, head_dim_held=True,
        device="a100-sxm-40gb", weights="int4")  # fmt: skip
    until(page, "location.hash.includes('123457')")
    link, before = page.evaluate("location.hash"), page.evaluate("attncost.state")
    with shown(browser, calculator, link=link) as seen:
        assert seen.page.evaluate("attncost.state") == before
        assert seen.page.evaluate("attncost.found.fit") == page.evaluate("attncost.found.fit")
    page.click("#reset")
    until(page, "location.hash === ''")


@pytest.mark.parametrize("link", BAD_LINKS, ids=range(len(BAD_LINKS)))
def test_a_link_that_cannot_be_is_refused_in_one_line(page, link):
    before = page.evaluate("attncost.state")
    follow(page, link)
    said = page.evaluate(ERRORS)
    assert said.startswith("This link")
    assert "\n" not in said
    assert len(said) < 200
    assert page.evaluate("attncost.state") == before
    assert page.locator("#errors img").count() == 0
    # The next setting takes it away.
    put(page, length=2048)
    assert page.evaluate(ERRORS) == ""


def offer(page, name, text):
    page.set_input_files(
        "#file", {"name": name, "mimeType": "application/json", "buffer": text.encode()}
    )
    page.wait_for_timeout(50)
    page.evaluate(PAINTED)


def test_a_configuration_of_ones_own_is_read(page):
    said = {
        "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192,
        "vocab_size": 128256, "tie_word_embeddings": True, "max_position_embeddings": 131072,
    }  # fmt: skip
    offer(page, "config.json", json.dumps(said))
    assert page.evaluate(ERRORS) == ""
    assert state(page, "d_model", "layers", "heads", "kv_heads", "head_dim", "hidden") == (
        2048, 16, 32, 8, 64, 8192,
    )  # fmt: skip
    assert page.locator("#model").inner_text().startswith("config.json: 1.24 G parameters")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is not JSON"),
        ("[]", "must hold an object"),
        ("null", "must hold an object"),
        ('{"model_type": "</script><img src=x onerror=alert(1)>"}', "onerror"),
        (
            '{"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 1e300}',
            "hidden_size must be a whole number",
        ),
        ('{"model_type": "llama", "hidden_size": 4096}', "lacks the size"),
        ('{"model_type": "deepseek_v3"}', "deepseek_v3"),
        ('{"__proto__": {"model_type": "llama"}}', "model_type"),
        (" " * 2_000_000, "2,000,000 bytes"),
    ],
    ids=range(9),
)
def test_a_file_that_is_none_of_these_is_refused_in_one_line(page, text, reason):
    before = page.evaluate("attncost.state")
    offer(page, "config.json", text)
    said = page.evaluate(ERRORS)
    assert reason in said
    assert "\n" not in said
    assert len(said) < 400
    assert page.evaluate("attncost.state") == before
    assert page.locator("#errors img").count() == 0
