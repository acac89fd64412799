import re

import numpy as np
import pytest
from tests.view.maps.reading import read_page

from attncost.view.maps.arrays.blocks import Blocks

ARRAYS = {
    "f16": np.array([[0.5, -65504.0, 6e-8]]),
    "f32": np.array([[[np.nan], [-np.inf], [1e-40]]]),
    "i32": np.array([2**31 - 1, -1, 0]),
    "u8": np.array([[0, 255], [7, 1]]),
}


def _decoder(blocks):
    header = '<script type="application/json" id="attncost-maps">{}</script>'
    return read_page(header + "".join(blocks.elements()))[1]


@pytest.mark.parametrize("kind", ARRAYS)
def test_an_array_comes_back_as_it_was(kind):
    blocks = Blocks(1000)
    entry = blocks.add(ARRAYS[kind], kind)
    got = _decoder(blocks)(entry)
    np.testing.assert_array_equal(got, ARRAYS[kind].astype(got.dtype))
    assert got.dtype.byteorder in "<|="


def test_equal_arrays_are_written_once():
    blocks = Blocks(10**6)
    first = blocks.add(np.arange(100), "i32")
    taken = blocks.bytes
    assert blocks.add(np.arange(100).reshape(10, 10), "i32") == {**first, "shape": [10, 10]}
    assert blocks.add(np.arange(1, 101), "i32")["id"] != first["id"]
    assert taken < blocks.bytes
    assert blocks.bytes == sum(len(re.sub("<[^>]*>", "", text)) for text in blocks.elements())


def test_what_repeats_is_deflated_and_noise_is_not():
    noise = np.random.default_rng(0).integers(0, 256, 3000)
    assert Blocks(10**6).add(noise, "u8")["packed"] == "plain"
    blocks = Blocks(10**6)
    assert blocks.add(np.zeros(3000), "u8")["packed"] == "deflate-raw"
    assert blocks.bytes < 100


def test_what_does_not_fit_is_left_out():
    noise = np.random.default_rng(0).integers(0, 256, 1_500_000)
    blocks = Blocks(10**6)
    blocks.add(noise[:1000], "u8")
    assert not blocks.over
    blocks.add(noise, "u8")
    assert blocks.over
    assert len(list(blocks.elements())) == 1
    assert blocks.bytes < 10**6
