"""Linformer: what it learns serves fewer keys and no more; masked keys take no column."""

import pytest
import torch
from tests.every import MECHANISMS
from tests.mechanisms.given import gradients, learned
from tests.oracle import random_qkv

from attncost import Linformer, MemoryMonitor, ShapeError

EVERY = [one for one in MECHANISMS if isinstance(one, Linformer)]
every = pytest.mark.parametrize("mechanism", EVERY, ids=str)


def definition(q, k, v, learned):
    """Return softmax(q (E k)^T / sqrt(d)) (F v), head by head and row by row."""
    out = torch.zeros(*q.shape[:3], v.shape[3], dtype=q.dtype)
    m, group = k.shape[2], q.shape[1] // k.shape[1]
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            g = h // group
            of_keys, of_values = (
                x[g] if x.ndim == 3 else x
                for x in (learned["key_projection"], learned["value_projection"])
            )
            keys = sum(of_keys[:, [j]] * k[b, g, j] for j in range(m))
            values = sum(of_values[:, [j]] * v[b, g, j] for j in range(m))
            for i in range(q.shape[2]):
                weights = ((keys * q[b, h, i]).sum(-1) / q.shape[3] ** 0.5).exp()
                out[b, h, i] = (weights[:, None] * values).sum(0) / weights.sum()
    return out


@every
@pytest.mark.parametrize("longer", [0, 4])
def test_it_is_what_the_definition_says(mechanism, longer, generator):
    qkv = [x.detach() for x in random_qkv(generator, 4, 6, heads=(4, 2), features=(8, 5))]
    parameters = learned(mechanism, qkv, generator, longer=longer)
    exact = definition(*qkv, parameters)
    torch.testing.assert_close(mechanism.attend(*qkv, parameters), exact)
    torch.testing.assert_close(mechanism.reference(*qkv, parameters), exact)


@every
def test_columns_of_places_that_are_not_there_have_no_gradient(mechanism, generator):
    qkv = random_qkv(generator, 9, 9)
    parameters = learned(mechanism, qkv, generator, longer=5)
    out = mechanism.attend(*qkv, parameters)
    for gradient in gradients(out, list(parameters.values())):
        assert gradient[..., :9].any()
        assert not gradient[..., 9:].any()


@every
def test_a_hole_closes_up(mechanism, generator):
    q, k, v = random_qkv(generator, 9, 9)
    parameters = learned(mechanism, (q, k, v), generator)
    key_mask = torch.arange(9).expand(2, 9) != 4
    without = [torch.cat([x[:, :, :4], x[:, :, 5:]], 2) for x in (k, v)]
    torch.testing.assert_close(
        mechanism.attend(q, k, v, parameters, key_mask=key_mask),
        mechanism.attend(q, *without, parameters),
    )


@every
@pytest.mark.parametrize("path", ["attend", "reference"])
def test_more_keys_than_columns_are_refused_in_one_line(mechanism, path, generator):
    q, k, v = random_qkv(generator, 9, 9)
    parameters = learned(mechanism, (q, k[:, :, :8], v[:, :, :8]), generator)
    with pytest.raises(ShapeError, match="learned tensors for at most 8 keys, got 9") as caught:
        getattr(mechanism, path)(q, k, v, parameters)
    assert "\n" not in str(caught.value)


def test_as_many_mixtures_as_keys_can_be_full_attention(generator):
    qkv = random_qkv(generator, 9, 9)
    each = torch.eye(9, dtype=torch.float64)
    parameters = {"key_projection": each, "value_projection": each}
    torch.testing.assert_close(
        Linformer(9).attend(*qkv, parameters),
        torch.nn.functional.scaled_dot_product_attention(*qkv),
    )


@pytest.mark.parametrize("value_dim", [64, 48])
def test_it_writes_no_scores(value_dim):
    n, h, rank = 2048, 4, 512
    q, v = torch.zeros(1, h, n, 64), torch.zeros(1, h, n, value_dim)
    parameters = {name: torch.zeros(rank, n) for name in ("key_projection", "value_projection")}
    with MemoryMonitor("cpu") as meter:
        Linformer(rank).attend(q, q, v, parameters)
    assert meter.peak < 4 * h * n * rank


@pytest.mark.parametrize("per_head", [True, False])
def test_no_sequence_has_a_copy_of_the_projections(per_head):
    b, h, m, rank = 64, 2, 256, 32
    q, v = torch.zeros(b, h, 1, 4), torch.zeros(b, h, m, 4)
    shape = (h, rank, m) if per_head else (rank, m)
    parameters = {name: torch.zeros(shape) for name in ("key_projection", "value_projection")}
    with MemoryMonitor("cpu") as meter:
        Linformer(rank, per_head).attend(q, v, v, parameters)
    assert meter.peak < 4 * b * h * rank * m / 2


def test_a_rank_of_nothing_is_refused():
    with pytest.raises(ShapeError, match="rank must be at least 1"):
        Linformer(rank=0)
