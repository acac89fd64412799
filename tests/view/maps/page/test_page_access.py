"""The page of maps for everyone: axe, small screens, no script, long texts, images."""

import pytest
import torch
from tests.browser import opened, serious
from tests.view.maps.page.drawn_page import Layer, causal, ready, until, write

PATCHES = 4
# Controls that are harder to hit than WCAG 2.2 allows; tokens stand in a sentence.
SMALL = """[...document.querySelectorAll("button, select, input")]
  .filter((one) => one.checkVisibility())
  .map((one) => [one.id || one.className, one.getBoundingClientRect()])
  .filter(([, { width, height }]) => width < 24 || height < 24).map(([name]) => name)"""
TREE = "() => document.querySelectorAll('#texts [role=option]').length"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    swap = {"line": "ac.hf.swap(model)", "sentence": "S.", "share": 0.4, "damage": 0.01}
    layers = [
        causal(torch.Generator().manual_seed(seed), 12, more=more)
        for seed, more in enumerate(({}, {"swap": swap}))
    ]
    return write(tmp_path_factory.mktemp("page") / "maps.html", layers)


def test_axe_finds_nothing_serious(browser, file):
    with opened(browser, file) as seen:
        page = seen.page
        ready(page)
        assert serious(page, "html") == []
        page.emulate_media(color_scheme="dark")
        # Nothing but colours depends on the scheme.
        assert serious(page, "html", ["color-contrast"]) == []
        page.keyboard.press("?")
        assert serious(page, "#shortcuts") == []
        page.emulate_media(color_scheme="light")
        assert serious(page, "#shortcuts", ["color-contrast"]) == []
        page.add_style_tag(content="#shortcuts * { color: #aaa !important }")
        assert [rule for rule, _ in serious(page, "#shortcuts")] == ["color-contrast"]


def test_nothing_is_wider_than_the_screen_and_all_is_large_enough_to_hit(browser, file):
    with opened(browser, file) as seen:
        page = seen.page
        ready(page)
        for width in (360, 700, 1000, 1280, 1920, 2560):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(SMALL) == []
        assert seen.errors == []


def test_a_long_command_leaves_the_title_its_room(browser, file):
    with opened(browser, file) as seen:
        page = seen.page
        ready(page)
        page.evaluate(
            "document.getElementById('command').textContent = 'attncost maps '.repeat(20)"
        )
        for width in (1000, 1100, 1280, 2560):
            page.set_viewport_size({"width": width, "height": 900})
            title = page.locator("#title").bounding_box()
            # A word cut in two, or one a line, would be taller.
            assert title["width"] > width / 3 or title["width"] > 600
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_everything_is_reached_by_the_tab_key_and_left_again(browser, file):
    with opened(browser, file) as seen:
        page = seen.page
        ready(page)
        reached = []
        for _ in range(80):
            page.keyboard.press("Tab")
            name = page.evaluate("document.activeElement.id || document.activeElement.className")
            if name in reached and name == "skip":
                break
            reached.append(name)
        names = {"skip", "thumb", "map", "layer", "wanted", "save-svg", "query", "tokens query"}
        assert names <= set(reached)
        # One stop for all pictures, and the round ends where it began.
        assert reached.count("thumb") == 1
        page.locator("#map").focus()
        before = page.evaluate("attncost.view.query")
        page.keyboard.press("ArrowUp")
        assert page.evaluate("attncost.view.query") == before - 1
        until(page, f"document.getElementById('spoken').innerText.includes('Query {before - 1}')")


def test_without_javascript_it_says_so(browser, file):
    with opened(browser, file, javascript=False) as seen:
        assert "JavaScript" in seen.page.locator("noscript").inner_text()


def test_of_a_long_text_few_tokens_are_elements(browser, tmp_path):
    n = 30_000
    one = torch.ones(1, 1, 8)
    tokens = [f"t{place}" for place in range(n)]
    queries, keys = {"tokens": ["last"]}, {"tokens": tokens}
    read = torch.ones(1, n, dtype=torch.bool)
    layer = Layer(q=one, k=one.expand(1, n, 8), read=read, queries=queries, keys=keys)
    with opened(browser, write(tmp_path / "long.html", [layer])) as seen:
        page = seen.page
        ready(page)
        assert page.evaluate(TREE) < 3000
        page.evaluate("attncost.go({ key: 29000 })")
        assert page.locator("#key-29000").is_visible()
        until(page, f"({TREE})() < 3000")
        assert seen.errors == []


def test_patches_of_an_image_choose_the_query(browser, tmp_path):
    n = 1 + PATCHES**2
    image = torch.arange(32 * 32 * 3).reshape(32, 32, 3).remainder(256).to(torch.uint8)
    grid = {"rows": PATCHES, "columns": PATCHES, "first": 1, "image": image}
    layer = causal(torch.Generator().manual_seed(1), n)
    layer = Layer(q=layer.q, k=layer.k, read=layer.read, queries={**layer.queries, "grid": grid})
    with opened(browser, write(tmp_path / "image.html", [layer])) as seen:
        page = seen.page
        ready(page)
        picture = page.locator("#picture")
        picture.scroll_into_view_if_needed()
        box = picture.bounding_box()
        place = {"x": box["width"] * 0.6, "y": box["height"] * 0.9}
        picture.hover(position=place)
        assert "Query\n15" in page.locator("#readout").inner_text()
        picture.click(position=place)
        assert page.evaluate("attncost.view.query") == 15
        page.keyboard.press("ArrowUp")
        assert page.evaluate("attncost.view.query") == 11
        colours = """() => { const { width, height } = document.getElementById("picture")
          const pen = document.getElementById("picture").getContext("2d")
          const bytes = pen.getImageData(0, 0, width, height).data.buffer
          return new Set(new Uint32Array(bytes)).size }"""
        assert page.evaluate(colours) > 100
        assert seen.errors == []
