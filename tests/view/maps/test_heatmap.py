import math

import numpy as np
import pytest
import torch
from tests.view.maps.reading import read_page

import attncost as ac
from attncost.core.errors import ShapeError
from attncost.view.maps.heatmap import heatmap

NAN = math.nan
MATRIX = [[1.0, NAN, NAN], [0.25, 0.75, NAN], [0.5, 0.0, 0.5]]
MASKED = np.ma.masked_invalid(np.array(MATRIX))
GIVEN = {
    "lists": MATRIX,
    "an array": np.array(MATRIX),
    "a masked array": MASKED,
    "a tensor": torch.tensor(MATRIX),
    "a tensor of half precision": torch.tensor(MATRIX, dtype=torch.bfloat16, requires_grad=True),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_the_page_holds_every_weight_and_tells_masked_from_zero(kind):
    header, decode = read_page(heatmap(GIVEN[kind], title="one head").html())
    (layer,), (head,) = header["layers"], header["layers"][0]["heads"]
    np.testing.assert_array_equal(decode(head["weights"]), np.float32(MATRIX))
    assert (layer["n"], layer["m"], header["title"]) == (3, 3, "one head")
    # Nothing is read where the map is 0; where a zero is read it is 1.
    assert (decode(head["map"]) == 0).tolist() == np.isnan(MATRIX).tolist()
    assert decode(head["map"])[2, 1] == 1
    assert decode(head["map"])[0, 0] == 255
    np.testing.assert_allclose(decode(head["received"]), np.nan_to_num(MATRIX).mean(0))
    entropy = [0, -0.25 * math.log(0.25) - 0.75 * math.log(0.75), math.log(2)]
    np.testing.assert_allclose(decode(head["entropy"]), entropy, atol=1e-6)


def test_names_of_queries_serve_the_keys_of_a_square():
    header, _ = read_page(heatmap(MATRIX, queries=["a", "b", "c"]).html())
    (sequence,) = header["sequences"]
    assert sequence["tokens"] == ["a", "b", "c"]
    layer = header["layers"][0]
    assert (layer["queries"], layer["keys"]) == (0, 0)


def test_a_matrix_of_two_sequences_has_names_for_both():
    shown = heatmap(np.ones((2, 4)) / 4, queries=["a", "b"], keys=["c", "d", "e", "f"])
    header, _ = read_page(shown.html())
    layer = header["layers"][0]
    names = [header["sequences"][layer[side]]["tokens"] for side in ("queries", "keys")]
    assert names == [["a", "b"], ["c", "d", "e", "f"]]
    header, _ = read_page(heatmap(np.ones((2, 4)) / 4).html())
    assert [one["tokens"] for one in header["sequences"]] == [["0", "1"], ["0", "1", "2", "3"]]


def test_a_large_matrix_is_pooled_for_the_overview():
    weights = torch.randn(300, 200, generator=torch.Generator().manual_seed(0)).softmax(-1)
    header, decode = read_page(heatmap(weights).html())
    pooled = decode(header["layers"][0]["heads"][0]["map"])
    assert pooled.shape == (100, 100)
    mass = weights[3:6, 4:6].sum(1).mean().item()
    assert 1e-6 ** (1 - (pooled[1, 2] - 1) / 254) == pytest.approx(mass, rel=0.03)


REFUSED = {
    "all heads": (
        torch.zeros(12, 9, 9),
        r"pick one head, such as attncost.heatmap\(weights\[0\]\)",
    ),
    "a batch": (torch.zeros(1, 12, 9, 9), r"such as attncost.heatmap\(weights\[0, 0\]\)"),
    "a row": ([0.5, 0.5], r"one matrix \(queries, keys\) that is not empty, got the shape \(2,\)"),
    "nothing": (np.zeros((0, 3)), r"that is not empty, got the shape \(0, 3\)"),
    "scores": ([[3.0, -1.0]], r"got -1 to 3: scores become weights with softmax\(-1\)"),
    "an infinite score": ([[math.inf, 0.0]], "must lie between 0 and 1"),
    "ragged lists": ([[1.0], [0.5, 0.5]], "must be a matrix of numbers"),
    "text": ("weights", "must be a matrix of numbers"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_matrix_of_weights_is_refused(kind):
    given, message = REFUSED[kind]
    with pytest.raises(ShapeError, match=message):
        heatmap(given)


def test_names_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="keys must be 3 names, one for each, got 2"):
        heatmap(MATRIX, keys=["a", "b"])


def test_weights_of_attention_are_taken_as_they_are(generator):
    q = torch.randn(1, 1, 5, 8, generator=generator)
    weights = ac.attention_weights(q, q)[0, 0]
    shown = heatmap(weights, title="one")
    assert shown._repr_html_().startswith("<iframe")
    assert repr(shown) == "Heatmap('one': 5 x 5 weights)"
