"""Latent attention, against one written out with torch, with keys and values and without."""

from dataclasses import replace

import pytest
import torch
from tests.cost.model.saved import flops, saved
from torch.nn.functional import scaled_dot_product_attention, softmax

from attncost.core.counts import symbol
from attncost.cost.model.latent import Latent

# Features of values as many as those of keys, for torch keeps no weights then.
SMALL = Latent(d_model=20, heads=3, rank=10, query_rank=14, nope_dim=8, rope_dim=4, value_dim=12)
STRAIGHT = replace(SMALL, query_rank=None)


def weights(sizes, generator):
    """Return the matrices of a layer; norms are a weight for each feature alone."""
    h, r, d = sizes.heads, sizes.rank, sizes.d_model
    queries = h * (sizes.nope_dim + sizes.rope_dim)
    shapes = {
        "kv down": (d, r + sizes.rope_dim),
        "kv norm": (r,),
        "kv up": (r, h * (sizes.nope_dim + sizes.value_dim)),
        "out": (h * sizes.value_dim, d),
    }
    if sizes.query_rank is None:
        shapes |= {"q": (d, queries)}
    else:
        asked = sizes.query_rank
        shapes |= {"q down": (d, asked), "q norm": (asked,), "q up": (asked, queries)}
    return {
        name: torch.randn(shape, generator=generator).requires_grad_()
        for name, shape in shapes.items()
    }


def queries(w, x, sizes):
    small = x if sizes.query_rank is None else (x @ w["q down"]) * w["q norm"]
    made = small @ w["q" if sizes.query_rank is None else "q up"]
    return made.unflatten(-1, (sizes.heads, -1)).split([sizes.nope_dim, sizes.rope_dim], dim=-1)


def latents(w, x, sizes):
    """Return what is cached: a vector, and the key that carries positions, turned by none here."""
    vector, key = (x @ w["kv down"]).split([sizes.rank, sizes.rope_dim], dim=-1)
    return vector * w["kv norm"], key + 0


def expanded(w, x, sizes):
    """Read all tokens with the keys and values of every head."""
    vector, key = latents(w, x, sizes)
    # In this order of axes torch returns its output in the same, which needs no copy.
    q = torch.cat(queries(w, x, sizes), dim=-1).transpose(0, 1)
    made = (vector @ w["kv up"]).unflatten(-1, (sizes.heads, -1)).transpose(0, 1)
    nope, value = made.split([sizes.nope_dim, sizes.value_dim], dim=-1)
    k = torch.cat([nope, key.expand(sizes.heads, -1, -1)], dim=-1)
    found = scaled_dot_product_attention(q[None], k[None], value[None], is_causal=True)[0]
    return found.transpose(0, 1).flatten(1) @ w["out"]


def absorbed(w, x, past, sizes):
    """Read all tokens for the last one, and make no key and no value of the others."""
    nope, rope = (part[0] for part in queries(w, x, sizes))
    vector, key = latents(w, x, sizes)
    vectors, keys = torch.cat([past[0], vector]), torch.cat([past[1], key])
    up = w["kv up"].unflatten(-1, (sizes.heads, -1))
    to_key, to_value = up.split([sizes.nope_dim, sizes.value_dim], dim=-1)
    asked = torch.cat([torch.einsum("hd,rhd->hr", nope, to_key), rope], dim=-1)
    scores = asked @ torch.cat([vectors, keys], dim=-1).T
    weighed = softmax(scores * (sizes.nope_dim + sizes.rope_dim) ** -0.5, dim=-1) @ vectors
    return torch.einsum("hr,rhd->hd", weighed, to_value).flatten() @ w["out"]


@pytest.mark.parametrize("sizes", [SMALL, STRAIGHT], ids=["compressed", "straight"])
def test_parameters_and_what_is_kept_are_those_of_torch(sizes, generator):
    w = weights(sizes, generator)
    assert sizes.learned == sum(one.numel() for one in w.values())
    x = torch.randn(33, sizes.d_model, generator=generator, requires_grad=True)
    kept = saved(lambda x: expanded(w, x, sizes), [x], w.values())
    assert sizes.kept(33, keeps_weights=False) == kept
    assert sizes.kept(33, keeps_weights=True) - kept == sizes.heads * 33 * (33 - 1)
    made = sum(latents(w, x, sizes)[i].numel() for i in range(2))
    assert sizes.cached(33) == made


@pytest.mark.parametrize("sizes", [SMALL, STRAIGHT], ids=["compressed", "straight"])
def test_a_step_with_absorbed_matrices_gives_the_same_for_the_flops_of_the_formula(
    sizes, generator
):
    w = {name: one.double() for name, one in weights(sizes, generator).items()}
    x = torch.randn(33, sizes.d_model, generator=generator, dtype=torch.float64)
    past = latents(w, x[:-1], sizes)
    torch.testing.assert_close(absorbed(w, x[-1:], past, sizes), expanded(w, x, sizes)[-1])
    linear, core = sizes.decode(33)
    assert linear.useful + core.useful == flops(absorbed, w, x[-1:], past, sizes)
    # Every number of the cache once, the queries and what is read of it.
    h, r, d = sizes.heads, sizes.rank, sizes.rope_dim
    assert core.bytes == 4 * (33 * (r + d) + h * (r + d) + h * r)


def test_biases_are_of_the_projections_from_and_to_the_layers():
    assert replace(SMALL, biased=True).learned - SMALL.learned == 14 + (10 + 4) + 20
    assert replace(STRAIGHT, biased=True).learned - STRAIGHT.learned == (10 + 4) + 20


def test_the_formula_in_symbols_gives_the_numbers():
    n = symbol("n")
    for of in (
        lambda m: SMALL.core(m, m).useful + SMALL.linear(m).useful,
        lambda m: SMALL.decode(m)[1].useful,
        lambda m: SMALL.kept(m, keeps_weights=True) + SMALL.live(m, keeps_weights=False),
    ):
        assert of(n).subs(n, 77) == of(77)
