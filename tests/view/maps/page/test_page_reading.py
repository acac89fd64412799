"""The page of maps as its reader uses it: heads, queries, tokens, links."""

import html
import re

import pytest
import torch
from tests.browser import opened
from tests.view.maps.page.drawn_page import Layer, causal, ready, until, write

N = 40
HOSTILE = (
    "<script>bad()</script>",
    "</script><img src=x onerror=bad()>",
    '"onmouseover="bad()',
    "=1+1",
    "{{title}}",
    " \n",
    "שלום",
    "👩‍👩‍👧‍👦",
    "x" * 300,
)
TOKENS = [*HOSTILE, *(f"token{place}" for place in range(N - len(HOSTILE) - 2)), "at", "##tention"]


@pytest.fixture(scope="module")
def layers():
    generator = torch.Generator().manual_seed(5)
    source, target = (torch.randn(3, count, 8, generator=generator) for count in (17, N))
    swap = {"line": "ac.hf.swap(model)", "sentence": "S.", "share": 0.4, "damage": 0.0123}
    return [
        causal(generator, N, heads=3, tokens=TOKENS, more={"swap": swap}),
        Layer(
            q=target,
            k=source,
            read=torch.ones(N, 17, dtype=torch.bool),
            queries={"tokens": TOKENS},
            keys={"tokens": [f"▁source{place}" for place in range(17)]},
            name="layer.1.cross",
        ),
    ]


@pytest.fixture(scope="module")
def file(layers, tmp_path_factory):
    return write(tmp_path_factory.mktemp("page") / "maps.html", layers, title="Maps <b>")


@pytest.fixture(scope="module")
def seen(browser, file):
    with opened(browser, file) as seen:
        ready(seen.page)
        yield seen
        assert seen.requests == []
        assert seen.errors == []


def gone(seen, **wanted):
    """Return the page after going somewhere, and after it has drawn."""
    place = {"layer": 0, "head": 0, "query": 30, "key": 2, "zoom": 0, "scale": "log", **wanted}
    seen.page.evaluate("attncost.go", place)
    frames = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    seen.page.evaluate(frames)
    return seen.page


def shown(weight):
    return float(f"{weight:.4g}")


def test_a_weight_is_read_with_four_digits_and_its_rank(seen, layers):
    page = gone(seen, head=1, query=30, key=2)
    row = layers[0].weights[1, 30]
    assert float(page.locator("#weight").inner_text()) == pytest.approx(shown(row[2]), rel=1e-3)
    assert f"{int((row > row[2]).sum()) + 1} of 31" in page.locator("#readout").inner_text()
    page = gone(seen, head=1, query=3, key=20)
    assert "masked" in page.locator("#weight").inner_text()


def test_the_top_keys_are_a_table_of_the_row(seen, layers):
    page = gone(seen, head=2, query=25)
    row = layers[0].weights[2, 25]
    cells = page.locator("#top tbody tr").all_inner_texts()
    places, weights = zip(*(re.findall(r"^\d+|\S+$", cell.strip()) for cell in cells), strict=True)
    best = row.topk(len(places))
    assert [int(place) for place in places] == best.indices.tolist()
    assert [float(weight) for weight in weights] == pytest.approx(best.values.tolist(), rel=1e-3)
    page.locator("#top tbody button").nth(1).click()
    assert page.evaluate("attncost.view.key") == int(places[1])


def test_the_text_is_shaded_by_the_chosen_query_and_chooses_one(seen):
    page = gone(seen, query=20)
    tokens = page.locator("#texts [role=option]")
    assert tokens.count() == N
    assert tokens.nth(21).evaluate("token => token.classList.contains('unread')")
    shade = "token => parseInt(token.style.getPropertyValue('--shade-share'))"
    assert max(tokens.nth(place).evaluate(shade) for place in range(21)) == 100
    tokens.nth(12).click()
    assert page.evaluate("attncost.view.query") == 12
    page.locator("#texts [role=listbox]").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("attncost.view.query") == 13


def test_hostile_tokens_stay_text(seen):
    page = gone(seen)
    assert page.title() == "Maps <b>"
    assert page.locator("h1").inner_text() == "Maps <b>"
    texts = page.locator("#texts [role=option]").all_text_contents()
    cut = [text if len(text) <= 40 else f"{text[:39]}…" for text in TOKENS]
    assert texts == [text.replace(" ", "␣").replace("\n", "↵") for text in cut]
    assert page.locator("#texts :is(img, script)").count() == 0


def test_search_finds_every_occurrence_and_words_across_tokens(seen):
    page = gone(seen)
    page.keyboard.press("/")
    page.keyboard.type("token1")
    expected = [place for place, token in enumerate(TOKENS) if "token1" in token]
    assert page.locator("#found").inner_text() == f"{len(expected)} found"
    walked = []
    for _ in range(3):
        page.keyboard.press("Enter")
        walked.append(page.evaluate("attncost.view.query"))
    assert walked == expected[:3]
    page.keyboard.press("Shift+Enter")
    assert page.evaluate("attncost.view.query") == expected[1]
    page.locator("#wanted").fill("attention")
    page.keyboard.press("Enter")
    assert page.evaluate("attncost.view.query") == TOKENS.index("at")
    page.locator("#wanted").fill("nowhere")
    assert page.locator("#found").inner_text() == "not found"
    page.locator("#wanted").fill("")


def test_keys_walk_over_heads_and_layers_and_open_the_shortcuts(seen):
    page = gone(seen)
    page.locator("#map").focus()
    walk = [
        ("]", (0, 1)),
        ("}", (1, 1)),
        ("]", (1, 2)),
        ("]", (0, 0)),
        ("[", (1, 2)),
        ("{", (0, 2)),
    ]
    for key, (layer, head) in walk:
        page.keyboard.press(key)
        until(page, f"attncost.view.layer === {layer} && attncost.view.head === {head}")
    page.keyboard.press("?")
    assert page.locator("#shortcuts").is_visible()
    page.locator("#single-keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("]")
    assert page.evaluate("attncost.view.head") == 2
    page.evaluate("document.getElementById('single-keys').checked = true")


def test_thumbnails_are_ordered_and_limited_by_a_measure(seen, layers):
    page = gone(seen)
    page.locator("#order").select_option("least")
    values = [float(text) for text in page.locator("#heads .value").all_inner_texts()]
    assert len(values) == 6
    assert values == sorted(values)
    page.locator("#from").fill(str(values[2] + 0.001))
    assert page.locator("#heads .thumb").count() == 3
    assert page.locator("#shown").inner_text() == "3 of 6 heads"
    page.locator("#from").fill("")
    page.locator("#order").select_option("model")
    assert page.locator("#heads [role=rowheader]").all_inner_texts() == ["0", "1"]
    page.locator("#heads .thumb").nth(0).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, "attncost.view.layer === 1 && attncost.view.head === 0")


def test_cross_attention_has_two_texts(seen, layers):
    page = gone(seen, layer=1, query=6, key=3)
    boxes = page.locator("#texts [role=listbox]")
    assert boxes.count() == 2
    assert boxes.nth(1).locator("[role=option]").first.inner_text() == "␣source0"
    boxes.nth(1).locator("[role=option]").nth(5).click()
    weight = shown(layers[1].weights[0, 6, 5])
    assert float(page.locator("#weight").inner_text()) == pytest.approx(weight, rel=1e-3)


def test_a_link_opens_what_was_looked_at(seen, browser, file):
    page = gone(seen, head=2, query=11, key=4, zoom=30, scale="linear")
    until(page, "location.hash.includes('query=11') && location.hash.includes('linear')")
    link = page.evaluate("location.hash")
    view = page.evaluate("attncost.view")
    with opened(browser, file) as other:
        ready(other.page)
        other.page.evaluate("link => { location.hash = link }", link)
        until(other.page, "attncost.view.query === 11 && attncost.view.zoom === 30")
        found = other.page.evaluate("attncost.view")
        other.page.reload()
        ready(other.page)
        until(other.page, "attncost.view.zoom === 30")
        again = other.page.evaluate("attncost.view")
    names = ("layer", "head", "query", "key", "zoom", "scale")
    assert [found[name] for name in names] == [view[name] for name in names]
    assert [again[name] for name in names] == [view[name] for name in names]


def test_it_lives_in_a_frame_without_an_address(browser, file, tmp_path):
    # Without a network, too: https://github.com/jessevig/bertviz/issues/53
    outer = tmp_path / "notebook.html"
    inner = html.escape(file.read_text(encoding="utf-8"))
    icon = '<link rel="icon" href="data:,">'
    outer.write_text(f'<!doctype html><title>n</title>{icon}<iframe srcdoc="{inner}"></iframe>')
    with opened(browser, outer) as seen:
        (frame,) = (frame for frame in seen.page.frames if frame != seen.page.main_frame)
        until(frame, "globalThis.attncost !== undefined")
        ready(frame)
        frame.evaluate("attncost.go({ head: 1, query: 9 })")
        assert "Query\n9" in frame.locator("#readout").inner_text()
        seen.page.wait_for_timeout(300)
        assert frame.locator("#errors").inner_text() == ""
        assert seen.requests == []
        assert seen.errors == []


def test_what_cannot_be_decoded_is_said(browser, file, tmp_path):
    broken = tmp_path / "broken.html"
    text = file.read_text(encoding="utf-8")
    broken.write_text(text.replace('id="block-0"', 'id="lost"'), encoding="utf-8")
    with opened(browser, broken) as seen:
        until(seen.page, "document.getElementById('errors').innerText !== ''")
        assert "block-0" in seen.page.locator("#errors").inner_text()


def test_the_last_step_of_a_generation_is_named_by_its_position(browser, tmp_path):
    layer = causal(torch.Generator().manual_seed(2), 12)
    step = Layer(q=layer.q[:, -1:], k=layer.k, read=layer.read[-1:], queries=layer.queries)
    with opened(browser, write(tmp_path / "step.html", [step])) as seen:
        page = seen.page
        ready(page)
        assert "Query\n11 “t11”" in page.locator("#readout").inner_text()
        assert page.locator("#query").input_value() == "11"
        assert "query 11" in page.locator("#top caption").inner_text()
        assert page.locator("#texts [role=listbox]").count() == 1
        page.locator("#texts [role=option]").nth(4).click()
        assert page.evaluate("[attncost.view.query, attncost.view.key]") == [0, 4]
        assert seen.errors == []


def test_colours_fit_the_open_head_unless_a_reader_chooses_others(browser, file):
    with opened(browser, file) as seen:
        page = seen.page
        ready(page)
        until(page, "location.hash.includes('scale=fitted')")
        ends = page.locator("#legend .stops span")
        assert ends.first.inner_text().startswith("≤ ")
        page.locator("#scale").select_option("log")
        assert ends.first.inner_text() == "≤ 10⁻⁶"
        assert ends.last.inner_text() == "1"
