"""What a map paints, and where; its colours."""

import json
from itertools import pairwise

import pytest
import torch
from tests.view.maps.page.engine_map import HELD, LARGE, SMALL, WIDE, shown, view_of

from attncost.view.maps.pictures.colours import STOPS


def test_cells_have_the_colours_of_their_weights(mapped):
    page = shown(mapped, SMALL)
    wrong = page.evaluate("""() => {
      const { map, pixels } = seen, at = pixels(), wrong = []
      for (let i = 5; i < 40; i++) for (let j = 5; j <= i; j++) {
        const colour = engine.colourOf(map.head.weight(i, j))
        const found = at(10 * j + 5, 10 * i + 5)
        if (String(found) !== String([...colour, 255])) wrong.push([i, j, found, colour])
      }
      return wrong
    }""")
    assert wrong == []


def test_blocks_of_the_pooled_map_turn_into_pairs_as_one_zooms_in(mapped):
    page = shown(mapped, LARGE)
    view = view_of(page)
    assert (view["exact"], view["block"]) == (False, {"rows": 15, "keys": 15})
    wrong = page.evaluate("""() => {
      const { map, pixels } = seen, at = pixels(), wrong = []
      const side = 15 * map.view.zoom
      for (let r = 0; r < 60; r++) for (let c = 0; c <= r; c++) {
        const colour = engine.colourOf(map.head.mapAt(r, c))
        const found = at(Math.floor((c + 0.5) * side), Math.floor((r + 0.5) * side))
        if (String(found) !== String([...colour, 255])) wrong.push([r, c, found, colour])
      }
      return wrong
    }""")
    assert wrong == []
    page.evaluate("seen.map.goTo(500, 300, 20)")
    assert view_of(page)["exact"]
    wrong = page.evaluate("""() => {
      const { map, pixels } = seen, at = pixels(), wrong = []
      for (let i = 492; i < 509; i++) for (let j = 292; j < 309; j++) {
        if (i === 500 || j === 300) continue
        const { query, key } = map.view
        const colour = engine.colourOf(map.head.weight(i, j))
        const found = at(Math.floor(20 * (j + 0.5 - key)), Math.floor(20 * (i + 0.5 - query)))
        if (String(found) !== String([...colour, 255])) wrong.push([i, j, found, colour])
      }
      return wrong
    }""")
    assert wrong == []


def _greys(page, x, y):
    """Return a square of 24 pixels of the map without its colours."""
    colours = page.evaluate(
        """([x, y]) => { const at = seen.pixels()
        return Array.from({ length: 24 }, (_, i) =>
          Array.from({ length: 24 }, (_, j) => at(x + j, y + i).slice(0, 3))) }""",
        [x, y],
    )
    return (torch.tensor(colours) * torch.tensor([0.2126, 0.7152, 0.0722])).sum(-1).round()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_masked_padded_and_zero_differ_without_colour(mapped, scheme):
    # https://github.com/TransformerLensOrg/TransformerLens/issues/240
    mapped.page.emulate_media(color_scheme=scheme)
    page = shown(mapped, SMALL)
    masked, padded = _greys(page, 350, 60), _greys(page, 10, 350)
    page = shown(mapped, HELD)
    zero, missing = _greys(page, 100, 100), _greys(page, 300, 100)
    mapped.page.emulate_media(color_scheme="light")
    assert zero.unique().numel() == 1
    for hatched in (masked, padded, missing):
        assert hatched.max() - hatched.min() > 80
    # Lines of the one rise, those of the other fall.
    for rising in (masked, missing):
        assert torch.equal(rising[1:, :-1], rising[:-1, 1:])
    assert torch.equal(padded[1:, 1:], padded[:-1, :-1])
    assert not torch.equal(padded[1:, :-1], padded[:-1, 1:])


def test_documents_have_borders_in_both_directions(mapped):
    page = shown(mapped, SMALL)
    for x, y in ((200, 255), (255, 200)):
        colour = page.evaluate("([x, y]) => seen.pixels()(x, y)", [x, y])
        assert colour == [17, 17, 17, 255]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_cross_hair_shows_the_chosen_pair_on_any_colour(mapped, scheme):
    mapped.page.emulate_media(color_scheme=scheme)
    page = shown(mapped, SMALL)
    page.evaluate("seen.map.goTo(30, 12)")
    view_of(page)
    places = [(10, 300), (10, 310), (390, 300), (120, 10), (130, 390), (130, 10), (120, 300)]
    inks = page.evaluate("(places) => places.map(([x, y]) => seen.pixels()(x, y))", places)
    beside = page.evaluate("[seen.pixels()(119, 200), seen.pixels()(200, 299)]")
    page.evaluate("seen.map.clear()")
    view_of(page)
    none = page.evaluate("(places) => places.map(([x, y]) => seen.pixels()(x, y))", places)
    mapped.page.emulate_media(color_scheme="light")
    ink, paper = [[17, 17, 17, 255], [238, 238, 238, 255]], [[255] * 4, [17, 17, 17, 255]]
    dark = scheme == "dark"
    assert inks == [ink[dark]] * len(places)
    assert beside == [paper[dark]] * 2
    assert none[0] != ink[dark] != none[-1]


def test_a_map_keeps_to_its_canvas_and_to_the_pixels_of_the_screen(mapped):
    page = shown(mapped, SMALL)
    assert view_of(page)["zoom"] == 10
    page.evaluate("seen.canvas.style.width = '200px'")
    page.wait_for_function("seen.map.view.zoom === 5 && seen.canvas.width === 200")
    page.evaluate("seen.canvas.style.width = ''")
    page.wait_for_function("seen.map.view.zoom === 10")
    screen = page.context.new_cdp_session(page)

    def pixels(ratio, width):
        size = {"width": width, "height": 900, "mobile": False, "deviceScaleFactor": ratio}
        screen.send("Emulation.setDeviceMetricsOverride", size)
        page.wait_for_function("width => seen.canvas.width === width", arg=400 * ratio)

    pixels(2, 1281)
    assert view_of(page)["zoom"] == 10
    pixels(1, 1280)


def test_cells_are_square_where_there_are_fewer_queries_than_keys(mapped):
    view = view_of(shown(mapped, WIDE))
    assert view["zoom"] == pytest.approx(400 / 120)
    assert (view["query"], view["key"], view["rows"], view["keys"]) == (0, 0, 30, 120)


def test_a_head_of_the_same_size_is_shown_at_the_same_place(mapped):
    page = shown(mapped, LARGE)
    page.evaluate("seen.map.goTo(300, 100, 8)")
    before = view_of(page)
    page.evaluate("engine.openHead(1, 0).then((head) => seen.map.show(head))")
    assert view_of(page) == before
    page.evaluate("engine.openHead(2, 0).then((head) => seen.map.show(head))")
    view = view_of(page)
    assert (view["chosen"], view["rows"], view["keys"]) == (None, 30, 120)


def test_a_place_that_is_wanted_before_there_is_room_is_shown_as_soon_as_there_is(mapped):
    page = shown(mapped, LARGE)
    page.evaluate("""async () => {
      const canvas = document.createElement("canvas")
      canvas.hidden = true
      document.body.append(canvas)
      canvas.style.display = "none"
      const map = new engine.MapView(canvas)
      map.show(await engine.openHead(1, 0))
      map.goTo(600, 500, 8)
      canvas.style.display = ""
      globalThis.late = { canvas, map }
    }""")
    page.wait_for_function("late.map.view.zoom === 8")
    view = page.evaluate("late.map.settled().then(() => late.map.view)")
    page.evaluate("late.canvas.remove()")
    assert view["chosen"] == {"query": 600, "key": 500}
    assert (view["query"], view["key"]) == (600.5 - 25, 500.5 - 25)


def test_tiles_that_take_long_come_one_a_frame_and_only_once(mapped):
    page = shown(mapped, LARGE)
    counts = page.evaluate("""async () => {
      const { map, told } = seen, head = map.head, frames = []
      const tile = (...range) => {
        const until = performance.now() + 9
        while (performance.now() < until);
        frames.push(told.moves)
        return head.tile(...range)
      }
      const { n, m, map: pooled, padding, documents } = head
      const state = () => "read", weight = () => 1
      map.show({ n, m, map: pooled, padding, documents, tile, state, weight })
      map.goTo(450, 450, 2)
      await map.settled()
      const first = frames.length
      map.place.pan(8, 8)
      await map.settled()
      return [first, new Set(frames).size, frames.length]
    }""")
    assert counts == [9, 9, 9]


def test_colours_change_with_their_scale(mapped):
    page = shown(mapped, SMALL)
    logarithmic = page.evaluate("seen.pixels()(55, 75)")
    page.evaluate("engine.setScale('linear'); seen.map.redraw()")
    weight = page.evaluate("seen.map.settled().then(() => seen.map.head.weight(7, 5))")
    linear = page.evaluate("seen.pixels()(55, 75)")
    expected = page.evaluate("engine.colourOf(seen.map.head.weight(7, 5))")
    page.evaluate("engine.setScale('log'); seen.map.redraw()")
    assert 0 < weight < 0.9
    assert linear[:3] == expected != logarithmic[:3]


def _colours(mapped, values, scale="log"):
    found = mapped.page.evaluate(
        "([scale, values]) => { engine.setScale(scale); return values.map(engine.colourOf) }",
        [scale, values],
    )
    return torch.tensor(found, dtype=torch.float64)


def _lightness(colours):
    """CIE 1976 L* of sRGB."""
    share = colours / 255
    linear = torch.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    luminance = linear @ torch.tensor([0.2126, 0.7152, 0.0722], dtype=torch.float64)
    return torch.where(luminance > 0.008856, 116 * luminance ** (1 / 3) - 16, 903.3 * luminance)


@pytest.mark.parametrize(
    ("scale", "values"),
    [("log", [10 ** (-6 + i / 4) for i in range(25)]), ("linear", [i / 24 for i in range(25)])],
)
def test_lightness_grows_evenly_with_a_weight(mapped, scale, values):
    steps = _lightness(_colours(mapped, values, scale)).diff()
    assert steps.min() > 0.75 * steps.mean()
    assert steps.max() < 1.25 * steps.mean()
    assert steps.sum() > 75


def test_stops_are_those_of_the_pictures_for_papers(mapped):
    assert mapped.page.evaluate("engine.STOPS") == list(STOPS)


def test_weights_beyond_the_scale_have_its_ends(mapped):
    inside = _colours(mapped, [1e-6, 1])
    assert torch.equal(_colours(mapped, [0, 1.0000001]), inside)
    assert torch.equal(_colours(mapped, [1e-30, 1]), inside)


def test_what_is_not_read_has_no_colour_of_the_scale(mapped):
    grey = mapped.page.evaluate("engine.colourOf(NaN)")
    assert len(set(grey)) == 1
    shades = _colours(mapped, [10 ** (-6 + i / 40) for i in range(241)])
    assert (shades - torch.tensor(grey)).abs().sum(1).min() > 20
    assert mapped.page.evaluate("engine.inkOf(NaN)") == 0


def test_pixels_have_the_colours_that_a_legend_has(mapped):
    values = [0, 1e-6, 3e-4, 0.02, 0.5, 1]
    found = mapped.page.evaluate(
        "(values) => { engine.setScale('log')\n"
        "return [...new Uint8Array(Uint32Array.from(values, engine.inkOf).buffer)] }",
        values,
    )
    pixels = torch.tensor(found).view(-1, 4)
    assert torch.equal(pixels[:, :3].double(), _colours(mapped, values))
    assert pixels[:, 3].eq(255).all()


@pytest.mark.parametrize(("scale", "count"), [("log", 7), ("linear", 5)])
def test_a_legend_increases_to_1_and_names_its_numbers(mapped, scale, count):
    legend = mapped.page.evaluate(
        "(scale) => { engine.setScale(scale); return engine.LEGEND }", scale
    )
    assert len(legend) == count
    assert all(one["value"] < other["value"] for one, other in pairwise(legend))
    assert legend[-1] == {"value": 1, "label": "1"}
    assert len({stop["label"] for stop in legend}) == count
    if scale == "log":
        assert json.dumps(legend[0]["value"]) == "1e-06"
        assert legend[0]["label"] == "≤ 10⁻⁶"
