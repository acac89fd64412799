import numpy as np
import pytest
import torch
from tests.view.maps.pictures.files import SVG, cells_of, ink_of, parsed, read_png
from tests.view.maps.seen import call

import attncost as ac
from attncost.core.errors import ShapeError
from attncost.draw import lettering
from attncost.view.maps.heatmap import heatmap
from attncost.view.maps.pictures.colours import coloured, rgb
from attncost.view.maps.pictures.letters import lettered
from attncost.view.maps.pictures.picture import picture
from attncost.view.maps.pictures.scale import Scale

TOKENS = ["</title>", "\u0120the", "\x00\ud800", "\u7537", "a\nb", *map(str, range(19))]


@pytest.fixture(scope="module")
def seen():
    generator = torch.Generator().manual_seed(0)
    return call(generator, ac.Causal(), key_mask=(torch.arange(24) > 3)[None], batch=1)


@pytest.fixture(scope="module")
def shown(seen):
    return picture(seen, 1, tokens=TOKENS, query=-2, title="Layer 0 & head 1 <b>")


def test_the_svg_parses_and_says_what_it_shows(shown):
    root, texts, _ = parsed(shown.svg())
    assert root.find(f"{SVG}title").text == "Layer 0 & head 1 <b>"
    assert "Layer 0 & head 1 <b>" in texts
    assert {"24 keys", "24 queries", "masked", "padding"} <= set(texts)
    assert 'Marked: query 22, "17".' in texts
    # Each token stands beside its row and above its column.
    assert texts.count("</title>") == texts.count("\u2423the") == texts.count("a\u21b5b") == 2


def test_cells_of_the_svg_are_the_weights(seen, shown):
    pixels, _ = cells_of(shown.svg())
    size = pixels.shape[0] // 24
    assert pixels.shape == (24 * size, 24 * size, 3)
    middles = pixels[size // 2 :: size, size // 2 :: size]
    weights = seen.weights()[0, 1].numpy()
    scale = Scale.fitted(np.where(shown.padded, np.nan, shown.weights))
    read = np.tril(np.ones((24, 24), bool))
    read[:, :4] = read[:4] = False
    np.testing.assert_array_equal(middles[read], coloured(weights, scale)[read])
    hatched = {tuple(rgb("#ffffff")), tuple(rgb("#9aa0a6"))}
    assert {tuple(colour) for colour in middles[~read]} <= hatched


def test_the_png_holds_the_same_cells_the_title_and_the_marked_query(shown):
    canvas, chunks = read_png(shown.png())
    root, _, _ = parsed(shown.svg())
    assert canvas.shape[:2] == (2 * int(root.get("height")), 2 * int(root.get("width")))
    pixels, (x, y) = cells_of(shown.svg())
    inside = canvas[y : y + len(pixels), x : x + pixels.shape[1]]
    # The frame of the marked row covers a little of its neighbours.
    assert (inside == pixels).all(-1).mean() > 0.96
    size = len(pixels) // 24
    marked = (canvas == rgb("#d55e00")).all(-1)
    rows = np.flatnonzero(marked.sum(1) > pixels.shape[1])
    assert (rows[0], rows[-1]) == (y + 22 * size - 4, y + 23 * size + 3)
    assert chunks[b"iTXt"].endswith(b"Layer 0 & head 1 <b>")
    ink = (canvas[: 2 * 20] == rgb("#1f2328")).all(-1)
    assert ink.sum() > 200


def test_masked_pairs_and_padding_are_hatched_in_different_directions(shown):
    pixels, _ = cells_of(shown.svg())
    size = pixels.shape[0] // 24
    padding, masked = pixels[: 4 * size, : 4 * size], pixels[4 * size : 8 * size, 10 * size :]
    for area, same in ((padding, (1, 1)), (masked, (1, -1))):
        inside = area[2:-2, 2:-2]
        for step in ((1, 1), (1, -1)):
            moved = np.roll(area, step, (0, 1))[2:-2, 2:-2]
            assert (moved == inside).all() == (step == same)


@pytest.mark.parametrize("weights", [np.full((12, 12), 0.5), np.full((1, 31), 0.5)])
def test_the_counts_are_titles_in_the_middle_of_their_sides(weights):
    svg = heatmap(weights).svg()
    (r, c), (pixels, (x, y)) = weights.shape, cells_of(svg)
    titles = {text.text: text for text in parsed(svg)[0].iter(f"{SVG}text")}
    keys, queries = titles[f"{c} keys"], titles["1 query" if r == 1 else f"{r} queries"]
    assert keys.get("text-anchor") == queries.get("text-anchor") == "middle"
    assert int(keys.get("x")) == (x + pixels.shape[1] // 2) // 2
    assert f" {(y + pixels.shape[0] // 2) // 2}) rotate(-90)" in queries.get("transform")


def test_numbers_of_the_scale_have_raised_letters_or_none():
    shown = heatmap(np.geomspace(1e-8, 1, 10_000).reshape(100, 100))
    _, texts, _ = parsed(shown.svg())
    raised = [text for text in texts if text.startswith(("10\u207b", "\u2264"))]
    assert raised == ["\u2264 10\u207b\u2076", "10\u207b\u2074"]
    assert {"0.001", "0.01", "\u2265 0.98"} <= set(texts)
    ink = ink_of(shown.png())
    for number in ("\u2264 1e-6", "1e-4", "0.01", "\u2265 0.98"):
        letters = lettered(number)[:, :-1]
        places = np.lib.stride_tricks.sliding_window_view(ink, letters.shape)
        assert (places == letters).all((-1, -2)).sum() == 1, number


@pytest.mark.parametrize(
    ("shape", "names"),
    [((12, 12), "W" * 400), ((12, 12), "l" * 400), ((1, 1), ""), ((300, 20), "key"), ((1, 31), "")],
)
def test_nothing_is_cut_off(shape, names):
    drawn = (
        heatmap(
            np.full(shape, 0.5),
            queries=[names] * shape[0] if names else None,
            keys=[names] * shape[1] if names else None,
            title="A rather long title that names a model, a layer and a head " * 2,
        )
        ._picture()
        ._drawing()
    )
    for text in drawn.texts:
        size = max(6 * len(text.plain or text.text), lettering.width(text.text))
        before = {"start": 0, "middle": size / 2, "end": size}[text.anchor]
        x, y = text.x - before, text.y
        if text.upright:
            assert y + before - size >= 0, text
            assert y + before <= drawn.height, text
            assert 8 <= text.x <= drawn.width, text
        else:
            assert 0 <= x <= x + size <= drawn.width + 1, text
            assert 8 <= y <= drawn.height, text
    for image in drawn.images:
        assert image.x + image.size[0] <= drawn.width
        assert image.y + image.size[1] <= drawn.height


def test_nothing_is_marked_unless_asked(seen):
    canvas, _ = read_png(picture(seen, 0).png())
    assert not (canvas == rgb("#d55e00")).all(-1).any()


def test_longer_calls_are_pooled_and_say_so(generator):
    shown = picture(call(generator, ac.Causal(), n=300), 0, query=299, tokens=["x"] * 300)
    assert shown.weights.shape == (100, 100)
    root, texts, _ = parsed(shown.svg())
    assert "A cell is the mean mass that 3 queries give to 3 keys together." in texts
    assert "together" in root.find(f"{SVG}desc").text
    # There is no room for names, so places are named.
    assert texts.count("x") == 0
    assert texts.count("50") == 2
    # The marked query is named in any case, and a round place too close to it is not.
    assert texts.count("299") == 1
    read_png(shown.png())


@pytest.mark.parametrize("n", [1, 128])
def test_pictures_of_any_size_are_drawn(n, generator):
    shown = picture(call(generator, ac.Full(), n=n, m=2 * n // 2, cross=True), 0)
    parsed(shown.svg())
    read_png(shown.png())


def test_a_matrix_is_drawn_with_its_names():
    svg = heatmap([[1.0, float("nan")], [0.5, 0.5]], queries=["first", "second"]).svg()
    root, texts, _ = parsed(svg)
    assert texts.count("second") == 2
    assert "masked" in texts
    assert "padding" not in texts
    assert root.find(f"{SVG}title").text == "Attention weights"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"head": 2},
            "head must be one of those of 'layers.0.attention' that were seen, 0, 1; got 2",
        ),
        ({"head": 0, "sequence": 1}, r"sequence must lie in \[0, 1\), got 1"),
        ({"head": 0, "query": 24}, r"query must lie in \[-24, 24\), as there are 24, got 24"),
        ({"head": 0, "tokens": ["a"]}, "tokens must be as many as the sequence has, 24, got 1"),
    ],
)
def test_what_is_not_there_is_not_drawn(asked, message, seen):
    with pytest.raises(ShapeError, match=message):
        picture(seen, asked.pop("head"), **asked)
