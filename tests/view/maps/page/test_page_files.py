"""What the page of maps hands on: pictures, tables, paper."""

import base64
import csv
import io
from xml.etree import ElementTree

import pytest
import torch
from tests.browser import opened
from tests.view.maps.page.drawn_page import causal, ready, write

N = 24
TOKENS = ["=1+1", "a\nb", '"', *(f"token{place}" for place in range(N - 3))]
SVG = "{http://www.w3.org/2000/svg}"
# How many colours a picture has, and of what size it is.
COLOURS = """async (data) => {
  const image = new Image()
  image.src = `data:image/png;base64,${data}`
  await image.decode()
  const canvas = document.createElement("canvas")
  canvas.width = image.naturalWidth
  canvas.height = image.naturalHeight
  const pen = canvas.getContext("2d")
  pen.drawImage(image, 0, 0)
  const pixels = pen.getImageData(0, 0, canvas.width, canvas.height).data
  return [canvas.width, canvas.height, new Set(new Uint32Array(pixels.buffer)).size]
}"""


# The rows of two pictures of which at least a share differs, as far as both are wide.
DIFFERING = """async ([one, other, share]) => {
  const drawn = async (data) => {
    const image = new Image()
    image.src = `data:image/png;base64,${data}`
    await image.decode()
    const pen = new OffscreenCanvas(image.naturalWidth, image.naturalHeight).getContext("2d")
    pen.drawImage(image, 0, 0)
    return pen
  }
  const pens = [await drawn(one), await drawn(other)]
  const wide = Math.min(...pens.map((pen) => pen.canvas.width))
  const high = Math.min(...pens.map((pen) => pen.canvas.height))
  const [inks, others] = pens.map(
    (pen) => new Uint32Array(pen.getImageData(0, 0, wide, high).data.buffer))
  const differs = (row) => {
    let count = 0
    for (let x = row * wide; x < (row + 1) * wide; x++) count += inks[x] !== others[x]
    return count > share * wide
  }
  return Array.from({ length: high }, (_, row) => row).filter(differs)
}"""


@pytest.fixture(scope="module")
def layer():
    return causal(torch.Generator().manual_seed(7), N, tokens=TOKENS)


@pytest.fixture(scope="module")
def seen(browser, layer, tmp_path_factory):
    file = write(tmp_path_factory.mktemp("page") / "maps.html", [layer], title="Some Model")
    with opened(browser, file) as seen:
        ready(seen.page)
        yield seen
        assert seen.requests == []
        assert seen.errors == []


def saved(seen, button, **place):
    """Return the name and the bytes of what a button saves."""
    whole = {"layer": 0, "head": 1, "query": 15, "key": 3, "zoom": 0, **place}
    seen.page.evaluate("attncost.go", whole)
    seen.page.wait_for_timeout(100)
    with seen.page.expect_download() as download:
        seen.page.locator(f"#{button}").click()
    return download.value.suggested_filename, download.value.path().read_bytes()


def test_a_png_holds_the_map_at_twice_its_size(seen):
    name, data = saved(seen, "save-png")
    assert name == "some-model-layer-0-head-1.png"
    width, height, colours = seen.page.evaluate(COLOURS, base64.b64encode(data).decode())
    box = seen.page.locator("#map").bounding_box()
    assert width > 2 * box["width"]
    assert height > 2 * box["height"]
    assert colours > 50


def test_the_png_holds_the_head_and_the_lines_of_the_chosen_query(seen):
    # https://github.com/jessevig/bertviz/issues/13
    places = [{}, {"query": 9}, {"head": 0}]
    whole, query, head = (
        base64.b64encode(saved(seen, "save-png", **place)[1]).decode() for place in places
    )
    lines = seen.page.evaluate(DIFFERING, [whole, query, 0.5])
    cell = 2 * seen.page.evaluate("attncost.view.zoom")
    # Six cells apart, and within the two or at their edges.
    assert 6 * cell - 8 <= lines[-1] - lines[0] <= 7 * cell + 8
    assert all(min(row - lines[0], lines[-1] - row) <= cell + 8 for row in lines)
    # The head is named at the top.
    assert seen.page.evaluate(DIFFERING, [whole, head, 0])[0] < 2 * 30


def test_an_svg_has_a_title_its_tokens_as_text_and_the_map(seen):
    # https://github.com/jessevig/bertviz/issues/33
    name, data = saved(seen, "save-svg")
    root = ElementTree.fromstring(data)
    assert name == "some-model-layer-0-head-1.svg"
    assert root.findtext(f"{SVG}title") == "Some Model: Layer 0, head 1"
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts.count("token7") == 2
    assert any("Query 15" in text and "key 3" in text for text in texts)
    assert {"masked", "padding"} <= set(texts)
    image = max((one.get("href") for one in root.iter(f"{SVG}image")), key=len)
    _, _, colours = seen.page.evaluate(COLOURS, image.partition(",")[2])
    assert colours > 50


def test_a_table_holds_the_weights_in_view(seen, layer):
    name, data = saved(seen, "save-csv")
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    assert name == "some-model-layer-0-head-1-view.csv"
    assert len(rows) == N * N
    assert rows[1]["key_token"] == TOKENS[1]
    # A table program would compute it otherwise.
    assert rows[0]["query_token"] == "'=1+1"
    found = torch.zeros(N, N, dtype=torch.float64)
    for row in rows:
        if row["state"] == "read":
            found[int(row["query"]), int(row["key"])] = float(row["weight"])
        else:
            assert row["weight"] == ""
    torch.testing.assert_close(found, layer.weights[1], rtol=1e-5, atol=1e-9)


def test_a_table_of_the_chosen_query_holds_all_its_keys(seen, layer):
    name, data = saved(seen, "save-row", zoom=40)
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    assert name == "some-model-layer-0-head-1-query-15.csv"
    assert [int(row["key"]) for row in rows] == list(range(N))
    assert {row["query"] for row in rows} == {"15"}
    weights = [float(row["weight"] or 0) for row in rows]
    assert weights == pytest.approx(layer.weights[1, 15].tolist(), rel=1e-5)


def test_paper_shows_the_open_head_and_no_controls(seen):
    seen.page.evaluate("attncost.go", {"layer": 0, "head": 1, "query": 15, "key": 3, "zoom": 0})
    seen.page.wait_for_timeout(100)
    assert len(seen.page.pdf()) > 20_000
    image = seen.page.locator("#printed image").first.get_attribute("href")
    assert seen.page.evaluate(COLOURS, image.partition(",")[2])[2] > 50
    seen.page.emulate_media(media="print")
    shown = {
        name: seen.page.locator(name).first.is_visible()
        for name in ("#printed svg", "#measures table", "#top table", "#heads", "#map", "#search")
    }
    seen.page.emulate_media(media="screen")
    assert list(shown.values()) == [True, True, True, False, False, False]
