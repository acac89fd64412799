"""The plain implementations that formulas are counted on compute what the papers say."""

import pytest
import torch
from tests.mechanisms.formulas import plain
from tests.oracle import definition, random_qkv

from attncost.mechanisms.formulas.gated_linear import GatedLinear
from attncost.mechanisms.formulas.latent import Latent
from attncost.mechanisms.formulas.nystrom import Nystrom
from attncost.mechanisms.formulas.performer import Performer
from attncost.mechanisms.formulas.reformer import Reformer
from attncost.mechanisms.formulas.top_k import TopK

N = 24


@pytest.fixture
def qkv(generator):
    return [x.detach() for x in random_qkv(generator, N, N, heads=(4, 2), features=(8, 5))]


def full(q, k, v):
    return definition(q, k, v, torch.ones(q.shape[2], k.shape[2], dtype=torch.bool))[0]


def test_nystrom_with_a_landmark_for_every_token_is_attention(qkv):
    """S S⁺ S = S, once the iterations have found the inverse."""
    torch.testing.assert_close(plain.nystrom(Nystrom(N, 60), *qkv), full(*qkv))


def test_more_features_of_a_performer_come_nearer_to_attention(qkv):
    q, k, v = (x / 2 for x in qkv)
    errors = []
    for features in (16, 4096):
        one = Performer(features)
        found = plain.performer(one, *plain.arguments(one, q, k, v))
        errors.append(float((found - full(q, k, v)).norm() / full(q, k, v).norm()))
    assert errors[1] < 0.05 < errors[0]


def test_a_reformer_whose_chunk_holds_all_is_attention_to_queries(qkv):
    """Its one chunk reads itself twice, which changes no mean."""
    q, k, v = qkv
    one = Reformer(N, 2)
    found = plain.reformer(one, *plain.arguments(one, q, k, v))
    keys = q / q.norm(dim=-1, keepdim=True)
    torch.testing.assert_close(found, full(q, keys, v.repeat_interleave(2, 1)))


def test_top_k_reads_the_best_of_attention(qkv):
    q, k, v = qkv
    scores = q @ k.repeat_interleave(2, 1).mT
    best = scores >= scores.topk(3, -1).values[..., -1:]
    torch.testing.assert_close(plain.top_k(TopK(3), q, k, v), definition(q, k, v, best)[0])
    torch.testing.assert_close(plain.top_k(TopK(N), q, k, v), full(q, k, v))


def test_latent_attention_is_causal_attention_to_keys_made_of_the_latent(qkv):
    one = Latent(16, 4)
    q, k, v, positions, small, matrix = plain.arguments(one, *qkv)
    made = torch.einsum("bmr,rf->bmf", small, matrix).unflatten(2, (4, -1)).transpose(1, 2)
    keys = torch.cat((made[..., :8], positions.repeat(1, 4, 1, 1)), -1)
    mask = torch.ones(N, N, dtype=torch.bool).tril()
    expected, _ = definition(q, keys, made[..., 8:], mask)
    torch.testing.assert_close(plain.latent(one, q, k, v, positions, small, matrix), expected)


@pytest.mark.parametrize("chunk", [1, 7, 8, 100])
def test_chunks_of_gated_linear_attention_are_the_recurrence(chunk, qkv):
    one = GatedLinear(chunk)
    q, k, v, kept = plain.arguments(one, *qkv)
    state, rows = torch.zeros(*k.shape[:2], 8, 5, dtype=q.dtype), []
    for t in range(N):
        state = kept[:, :, t, :, None] * state + k[:, :, t, :, None] * v[:, :, t, None]
        rows.append(torch.einsum("bhd,bhde->bhe", q[:, :, t], state.repeat_interleave(2, 1)))
    torch.testing.assert_close(plain.gated_linear(one, q, k, v, kept), torch.stack(rows, 2))
