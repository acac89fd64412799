import numpy as np
import pytest
import torch
from tests.view.maps.reading import read_page
from tests.view.maps.seen import call

import attncost as ac
from attncost.core.errors import ShapeError
from attncost.view.maps.arrays.images import pixels
from attncost.view.maps.maps import maps


def _read(captured, **wishes):
    return read_page(
        maps({name: (one,) for name, one in captured.items()}, prices={}, **wishes).html()
    )


def _words(count, letter="t"):
    return [f"{letter}{i}" for i in range(count)]


def test_tokens_are_named_or_numbered(generator):
    seen = call(generator, n=4)
    header, _ = _read({"layer": seen}, tokens=["a", "b", "a", "c"])
    assert [one["tokens"] for one in header["sequences"]] == [["a", "b", "a", "c"]]
    header, _ = _read({"layer": seen})
    assert header["sequences"][0]["tokens"] == ["0", "1", "2", "3"]


def test_padding_is_of_the_sequence_that_was_asked_for(generator):
    key_mask = torch.tensor([[True] * 6, [False] * 2 + [True] * 4])
    seen = call(generator, ac.Causal(), n=6, batch=2, key_mask=key_mask)
    header, decode = _read({"layer": seen}, sequence=1)
    assert decode(header["sequences"][0]["padded"]).tolist() == [1, 1, 0, 0, 0, 0]
    assert any("sequence 1 of a batch of 2" in note for note in header["notes"])
    header, _ = _read({"layer": seen}, sequence=0)
    assert header["sequences"][0]["padded"] is None
    with pytest.raises(ShapeError, match=r"sequence must lie in \[0, 2\), as 'layer' saw a batch"):
        _read({"layer": seen}, sequence=2)


def test_padded_queries_count_in_no_map_and_no_measure(generator):
    key_mask = (torch.arange(24) > 5)[None]
    seen = call(generator, ac.Causal(), key_mask=key_mask)
    header, decode = _read({"layer": seen})
    head = header["layers"][0]["heads"][0]
    weights = seen.weights()[0, 0].numpy()
    pooled = decode(head["map"])
    assert (pooled[:6] == 0).all()
    assert (pooled[:, :6] == 0).all()
    assert (pooled[6:, 6:] > 0).tolist() == np.tril(np.ones((18, 18), bool)).tolist()
    np.testing.assert_allclose(decode(head["received"]), weights[6:].mean(0), atol=1e-6)
    largest = weights[6:].max(1).mean()
    assert head["measures"]["largest"] == pytest.approx(largest, rel=1e-4)
    assert np.isneginf(decode(head["lse"])[:6]).all()


def test_documents_begin_where_their_numbers_change(generator):
    segments = torch.tensor([[5, 5, 5, 2, 2, 9]])
    header, _ = _read({"layer": call(generator, n=6, segments=segments)})
    assert header["sequences"][0]["documents"] == [0, 3, 5]
    header, _ = _read({"layer": call(generator, n=6, segments=torch.zeros(1, 6).long())})
    assert header["sequences"][0]["documents"] == []
    assert header["layers"][0]["reads"] is None


def test_queries_after_a_cache_are_the_last_tokens_of_their_keys(generator):
    header, _ = _read({"layer": call(generator, ac.Causal(), n=2, m=7)}, tokens=_words(7))
    layer = header["layers"][0]
    assert layer["queries"] == layer["keys"] == 0
    assert header["sequences"][0]["tokens"] == _words(7)


@pytest.mark.parametrize("n", [5, 7])
def test_source_and_target_of_an_encoder_with_a_decoder_are_told_apart(n, generator):
    padding = (torch.arange(n) < n - 1)[None]
    captured = {
        "encoder.layers.0.attention": call(generator, n=7, key_mask=(torch.arange(7) > 0)[None]),
        "decoder.layers.0.self": call(generator, ac.Causal(), n=n, key_mask=padding),
        "decoder.layers.0.cross": call(generator, n=n, m=7, cross=True),
    }
    header, decode = _read(captured, tokens=(_words(7, "s"), _words(n, "t")))
    sides = [
        tuple(header["sequences"][layer[side]]["tokens"][0] for side in ("queries", "keys"))
        for layer in header["layers"]
    ]
    assert sides == [("s0", "s0"), ("t0", "t0"), ("t0", "s0")]
    # Cross-attention learns from the decoder which of its queries are padding.
    queries = header["sequences"][header["layers"][2]["queries"]]
    assert decode(queries["padded"]).tolist() == [0] * (n - 1) + [1]
    assert header["layers"][2]["cross"]
    assert header["layers"][2]["heads"][0]["measures"]["distance"] is None
    assert header["layers"][1]["heads"][0]["measures"]["distance"] is not None


REFUSED = {
    "too many": (["a"] * 5, "tokens must be as many as the sequence has, 4, got 5"),
    "too few": (["a"], "tokens must be as many as the sequence has, 4, got 1"),
    "a string": ("abcd", "tokens must be a list of strings"),
    "numbers": ([1, 2, 3, 4], "convert_ids_to_tokens makes one"),
    "neither": ((["a"], ["b", "c"]), "as the sequence has, 4, got 1 and 2"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_tokens_that_are_none_are_refused(kind, generator):
    tokens, message = REFUSED[kind]
    with pytest.raises(ShapeError, match=message):
        _read({"layer": call(generator, n=4)}, tokens=tokens)


def test_patches_of_an_image_stand_behind_the_first_tokens(generator):
    image = torch.rand(3, 8, 12, generator=generator)
    header, decode = _read({"layer": call(generator, n=8)}, image=image)
    grid = header["sequences"][0]["grid"]
    assert (grid["rows"], grid["columns"], grid["first"]) == (2, 3, 2)
    assert (grid["image"]["height"], grid["image"]["width"]) == (8, 12)
    rgb = decode(grid["image"]["rgb"])
    np.testing.assert_allclose(rgb / 255, image.permute(1, 2, 0), atol=0.5 / 255 + 1e-6)
    tokens = header["sequences"][0]["tokens"]
    assert tokens[:3] + tokens[-1:] == ["0", "1", "patch 0,0", "patch 1,2"]


def test_a_grid_needs_no_image(generator):
    header, _ = _read({"layer": call(generator, n=7)}, grid=(3, 2))
    grid = {"rows": 3, "columns": 2, "first": 1, "image": None}
    assert header["sequences"][0]["grid"] == grid
    with pytest.raises(ShapeError, match=r"grid must be rows and columns of patches, got \(0, 2\)"):
        _read({"layer": call(generator, n=7)}, grid=(0, 2))


@pytest.mark.parametrize(
    "given", [{}, {"image": np.zeros((3, 4, 4))}], ids=["no image", "an image"]
)
def test_a_grid_that_no_sequence_has_is_refused(given, generator):
    captured = {"a": call(generator, n=10), "b": call(generator, n=12)}
    with pytest.raises(ShapeError, match="got 7 x 5 = 35 for 10 and 12: give the rows and columns"):
        _read(captured, grid=(7, 5), **given)
    header, _ = _read(captured | {"c": call(generator, n=36)}, grid=(7, 5))
    assert [one["grid"] is None for one in header["sequences"]] == [True, True, False]


IMAGES = {
    "bytes": (np.full((4, 6, 3), 7, np.uint8), 7),
    "a batch of one": (torch.full((1, 3, 4, 6), 0.5), 128),
    "grey": (np.full((4, 6, 1), 1.0), 255),
    "normalised": (torch.cat([torch.full((3, 2, 6), -2.0), torch.full((3, 2, 6), 2.0)], 1), None),
}


@pytest.mark.parametrize("kind", IMAGES)
def test_images_of_every_kind_become_bytes(kind):
    given, value = IMAGES[kind]
    found = pixels(given)
    assert found.shape == (4, 6, 3)
    assert found.dtype == np.uint8
    if value is None:
        assert (found[:2] == 0).all()
        assert (found[2:] == 255).all()
    else:
        assert (found == value).all()


def test_a_large_image_is_thinned_out():
    assert pixels(np.zeros((2000, 1000, 3))).shape == (500, 250, 3)


@pytest.mark.parametrize(
    "given", [np.zeros((4, 6)), np.full((4, 4, 3), np.nan)], ids=["flat", "nan"]
)
def test_what_is_no_image_is_refused(given):
    with pytest.raises(ShapeError, match="image must"):
        pixels(given)
