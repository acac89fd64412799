import math

import numpy as np
import pytest
import torch
from tests.oracle import definition, read
from tests.view.maps.reading import read_page, weights
from tests.view.maps.seen import call

import attncost as ac
from attncost.core.errors import ShapeError
from attncost.view.maps.maps import maps

N, M = 24, 40


def _relative(n, m, generator, heads=2):
    """T5's kind of bias, which depends on the distance alone."""
    table = torch.randn(heads, n + m - 1, generator=generator)
    return table[:, (torch.arange(m) - torch.arange(n)[:, None]) + n - 1][None]


def _hidden(n, m, generator):
    mask = torch.rand(1, 1, n, m, generator=generator) > 0.5
    return torch.zeros(1, 1, n, m).masked_fill(~mask, -math.inf)


PATTERNS = {
    "full": ac.Full(),
    "causal": ac.Causal(),
    "window": ac.Window(width=5),
    "strided": ac.Strided(stride=4),
    "big bird": ac.BigBird(block=4),
    "everything but a window": ~ac.Window(width=5),
}


def _left(m):
    return torch.arange(m)[None] >= 3


WISHES = {
    "left padding": lambda g: {"pattern": ac.Causal(), "key_mask": _left(N)},
    "right padding": lambda g: {"key_mask": ~_left(N).flip(1) ^ True},
    "everything is padding": lambda g: {"key_mask": torch.zeros(1, N, dtype=torch.bool)},
    "documents": lambda g: {"pattern": ac.Causal(), "segments": (torch.arange(N) // 7)[None]},
    "documents in several places": lambda g: {"segments": (torch.arange(N) // 5 % 2)[None]},
    "grouped heads": lambda g: {"heads": (6, 2)},
    "a bias by distance": lambda g: {"bias": _relative(N, N, g)},
    "a bias by pair": lambda g: {"bias": torch.randn(1, 2, N, N, generator=g)},
    "a bias by key": lambda g: {"bias": torch.randn(1, 1, 1, N, generator=g)},
    "a bias by query": lambda g: {"bias": torch.randn(1, 2, N, 1, generator=g)},
    "a mask that is added": lambda g: {"bias": _hidden(N, N, g)},
    "a mask and a bias by distance": lambda g: {"bias": _relative(N, N, g) + _hidden(N, N, g)},
    "a mask of keys that is added": lambda g: {"bias": _hidden(1, N, g)},
    "a mask in one head": lambda g: {
        "bias": torch.cat([_hidden(N, N, g), torch.zeros(1, 1, N, N)], 1)
    },
    "a cap": lambda g: {"softcap": 2.0, "size": 3.0},
    "a sink": lambda g: {"sink": torch.tensor([1.0, -1.0]), "pattern": ac.Window(width=3)},
    "slopes": lambda g: {"alibi": torch.tensor([0.5, 0.25]), "pattern": ac.Causal()},
    "a scale": lambda g: {"scale": 0.1},
    "another sequence": lambda g: {"cross": True, "m": M},
    "a cache": lambda g: {"pattern": ac.Causal(), "m": M, "alibi": torch.tensor([0.5, 0.25])},
    "more queries than keys": lambda g: {"pattern": ac.Causal(), "m": 10},
    "numbers that overflow": lambda g: {"size": 1e6, "scale": 1e-12},
    "numbers that vanish": lambda g: {"size": 1e-9, "scale": 1e17},
}


def _check(seen):
    header, decode = read_page(maps({seen.name: (seen,)}, prices={}).html())
    (layer,) = header["layers"]
    q = torch.stack([torch.from_numpy(decode(h["q"]).astype(np.float64)) for h in layer["heads"]])
    k = torch.stack([torch.from_numpy(decode(b).astype(np.float64)) for b in layer["keys_of"]])
    n, m = seen.q.shape[2], seen.k.shape[2]
    masks = {name: seen.wishes.get(name) for name in ("key_mask", "segments")}
    wishes = {name: x for name, x in seen.wishes.items() if name not in (*masks, "scale")}
    # Values that are the identity make outputs of weights.
    expected, _ = definition(
        q[None],
        k[None],
        torch.eye(m, dtype=torch.float64).expand(1, len(k), m, m),
        read(seen.pattern.mask(n, m), **masks),
        layer["scale"],
        **wishes,
    )
    for place in range(len(layer["heads"])):
        got = weights(header, layer, place, decode)
        np.testing.assert_allclose(got, expected[0, place].numpy(), rtol=1e-6, atol=1e-12)
    return layer, header


@pytest.mark.parametrize("name", PATTERNS)
def test_weights_in_the_page_are_those_of_the_rounded_pair_under_every_pattern(name, generator):
    _check(call(generator, PATTERNS[name]))
    _check(call(generator, PATTERNS[name], m=M))


@pytest.mark.parametrize("name", WISHES)
def test_weights_in_the_page_are_those_of_the_rounded_pair_with_every_wish(name, generator):
    _check(call(generator, **WISHES[name](generator)))


@pytest.mark.parametrize("name", ["a bias by distance", "a mask and a bias by distance"])
def test_a_bias_that_depends_on_the_distance_takes_one_number_a_distance(name, generator):
    layer, _ = _check(call(generator, **WISHES[name](generator)))
    assert layer["bias"]["kind"] == "diagonal"
    assert layer["bias"]["rows"]["shape"] == [2, 2 * N - 1]


def test_a_mask_that_is_added_is_no_bias_but_says_what_is_read(generator):
    layer, _ = _check(call(generator, bias=_hidden(N, N, generator)))
    assert layer["bias"] is None
    assert layer["reads"] is not None


def test_a_mask_of_the_least_number_is_a_mask(generator):
    bias = _hidden(N, N, generator).clamp(min=torch.finfo(torch.float32).min)
    seen = call(generator, bias=bias)
    header, _ = read_page(maps({"layer": (seen,)}, prices={}).html())
    assert header["layers"][0]["bias"] is None
    assert header["layers"][0]["reads"] is not None


def test_a_layer_in_range_keeps_its_scale_and_one_out_of_range_the_product(generator):
    kept, _ = _check(call(generator, size=100.0, scale=1e-4))
    moved, _ = _check(call(generator, size=1e6, scale=1e-12))
    assert kept["scale"] == 1e-4
    assert moved["scale"] / 1e-12 == 2 ** round(math.log2(moved["scale"] / 1e-12))


def test_rounding_changes_weights_by_no_more_than_the_page_says(generator):
    seen = call(generator, ac.Causal(), size=2.0)
    made = maps({"layer": (seen,)}, prices={})
    header, decode = read_page(made.html())
    said = next(note for note in header["notes"] if "16 bits" in note)
    limit = float(said.split("more than ")[1].split(" %")[0]) / 100
    rows = [3, 9, 15, 21]
    exact = seen.weights(rows)[0].numpy()
    for place in range(2):
        got = weights(header, header["layers"][0], place, decode)[rows]
        assert 0 < np.abs(got - exact[place]).max() <= limit * 1.01


@pytest.mark.parametrize("what", ["q", "k"])
def test_numbers_that_are_not_finite_are_refused_by_layer_head_and_token(what, generator):
    seen = call(generator, heads=(4, 2), name="layers.7")
    getattr(seen, what)[0, 1, 5, 0] = math.nan
    head = {"q": 1, "k": 2}[what]
    with pytest.raises(ShapeError, match=f"of token 5 in head {head} of 'layers.7' is not finite"):
        maps({"layers.7": (seen,)}, prices={})


def test_keys_that_are_padding_may_hold_anything(generator):
    seen = call(generator, key_mask=_left(N))
    seen.k[:, :, 0] = math.nan
    _check(call(generator, key_mask=_left(N)))
    header, _ = read_page(maps({"layer": (seen,)}, prices={}).html())
    assert header["sequences"][0]["padded"] is not None
