"""Images as their processors say, against the same written out by hand, without Pillow."""

import json
import sys

import numpy as np
import pytest

from attncost.core.errors import AttnCostError, ShapeError, StorageError
from attncost.integrations.pixels import pixels

ALONE = {"do_resize": False, "do_normalize": False}


@pytest.fixture
def read(tmp_path):
    """Return what a processor of some settings makes of an array."""

    def read(array, name="image.npy", **settings):
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings))
        np.save(tmp_path / name, array)
        return pixels(tmp_path, tmp_path / name)

    return read


def colours(height, width):
    return np.random.default_rng(0).integers(256, size=(height, width, 3)).astype(np.uint8)


def test_colours_are_scaled_and_normalised_and_what_is_shown_is_not(read):
    array, mean, std = colours(4, 6), [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]
    found = read(array, do_resize=False, image_mean=mean, image_std=std)
    assert np.array_equal(found.shown.numpy(), array)
    expected = (array.astype(np.float64) / 255 - mean) / std
    np.testing.assert_allclose(found.values[0].permute(1, 2, 0), expected, atol=1e-6)
    plain = read(array, rescale_factor=0.5, **ALONE)
    np.testing.assert_allclose(plain.values[0].permute(1, 2, 0), array * 0.5)


def test_halving_an_image_takes_the_triangle_of_pillow(read):
    """Two pixels make one: the triangle filter of twice the width weighs 1, 3, 3, 1."""
    array = np.repeat(np.array([0, 80, 160, 240, 80, 0, 40, 200], np.uint8)[None, :, None], 3, 2)
    found = read(array, size={"height": 1, "width": 4}, do_normalize=False)
    inner = [(80 * 1 + 160 * 3 + 240 * 3 + 80 * 1) / 8, (240 + 80 * 3 + 0 * 3 + 40) / 8]
    assert found.shown[0, 1:3, 0].tolist() == [round(inner[0]), round(inner[1])]
    assert found.values.shape == (1, 3, 1, 4)


@pytest.mark.parametrize(
    ("size", "shape"),
    [(5, (5, 5)), ({"height": 3, "width": 7}, (3, 7)), ({"shortest_edge": 4}, (4, 8))],
)
def test_every_form_of_a_size_is_understood(read, size, shape):
    assert read(colours(8, 16), size=size).shown.shape[:2] == shape


def test_the_middle_is_cut_out(read):
    array = colours(6, 9)
    crop = {"do_center_crop": True, "crop_size": {"height": 2, "width": 3}}
    assert np.array_equal(read(array, **ALONE, **crop).shown.numpy(), array[2:4, 3:6])
    with pytest.raises(ShapeError, match="crops 8 x 8 out of 6 x 9 pixels"):
        read(array, **ALONE, do_center_crop=True, crop_size=8)


@pytest.mark.parametrize(
    ("array", "got"),
    [
        (np.zeros((2, 2, 3)), "float64 of 2 x 2 x 3"),
        (np.zeros((2, 2), np.uint8), "uint8 of 2 x 2"),
        (np.zeros((2, 2, 4), np.uint8), "uint8 of 2 x 2 x 4"),
        (np.zeros((0, 2, 3), np.uint8), "uint8 of 0 x 2 x 3"),
    ],
    ids=["float", "grey", "alpha", "empty"],
)
def test_an_array_of_another_shape_is_refused(read, array, got):
    with pytest.raises(ShapeError, match=f"height x width x 3, got {got}"):
        read(array, **ALONE)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"size": {"longest_edge": 3}}, "size of {'longest_edge': 3}.*: write one"),
        ({"size": 4, "resample": 5}, "resamples by 5, and known are 0, 2, 3: resize"),
    ],
)
def test_what_a_processor_does_besides_is_refused(read, settings, reason):
    with pytest.raises(ShapeError, match=reason):
        read(colours(4, 4), **settings)


def test_without_pillow_a_picture_is_refused_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    (tmp_path / "preprocessor_config.json").write_text("{}")
    with pytest.raises(AttnCostError, match=r"pip install pillow, or give a \.npy file"):
        pixels(tmp_path, tmp_path / "cat.png")


def test_with_pillow_a_picture_is_the_same_as_its_array(tmp_path):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(ALONE))
    image.fromarray(colours(3, 5)).save(tmp_path / "cat.png")
    assert np.array_equal(pixels(tmp_path, tmp_path / "cat.png").shown.numpy(), colours(3, 5))


def test_files_that_are_missing_or_no_image_are_told_apart(tmp_path):
    with pytest.raises(StorageError, match=r"has no preprocessor_config\.json"):
        pixels(tmp_path, tmp_path / "cat.npy")
    (tmp_path / "preprocessor_config.json").write_text("[]")
    with pytest.raises(StorageError, match="must hold an object of settings, got list"):
        pixels(tmp_path, tmp_path / "cat.npy")
    (tmp_path / "preprocessor_config.json").write_text("{}")
    with pytest.raises(StorageError, match=r"cat\.npy cannot be read as an image \(No such file"):
        pixels(tmp_path, tmp_path / "cat.npy")
    (tmp_path / "cat.npy").write_bytes(b"no array")
    with pytest.raises(StorageError, match=r"cat\.npy cannot be read .*: give a \.npy array"):
        pixels(tmp_path, tmp_path / "cat.npy")
    with (tmp_path / "cat.npy").open("wb") as file:
        np.savez(file, colours(2, 2))
    with pytest.raises(ShapeError, match="got an archive of arrays"):
        pixels(tmp_path, tmp_path / "cat.npy")
