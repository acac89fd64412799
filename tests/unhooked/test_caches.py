"""Mistakes that the hook would find first, and decoding compiled."""

import pytest
import torch
from tests.oracle import definition, random_qkv
from torch._dynamo.testing import CompileCounterWithBackend

from attncost import Causal, Full, Linear, ShapeError, Strided, Window
from attncost import attention as attend
from attncost.nn import Attention, Rope
from attncost.nn.ahead import reads_ahead
from attncost.nn.cache_for import cache_for
from attncost.nn.dynamic_cache import DynamicCache
from attncost.nn.rolling_cache import RollingCache
from attncost.nn.state_cache import StateCache
from attncost.nn.static_cache import StaticCache

N = 70
MAKES = [DynamicCache, lambda: StaticCache(N), lambda: RollingCache(24)]
K, V = torch.zeros(2, 2, 3, 8), torch.zeros(2, 2, 3, 5)
MISTAKES = {
    "other length": (K[:, :, :2], V, None, "agree in the first three"),
    "three axes": (K[0], V[0], None, "must have the axes"),
    "other types": (K.double(), V, None, "one type on one device"),
    "other devices": (K.to("meta"), V, None, "on meta and torch.float32 on cpu"),
    "whole-number mask": (K, V, torch.ones(2, 3, dtype=torch.int64), "that of the new tokens"),
    "mask of another length": (K, V, torch.ones(2, 9, dtype=torch.bool), r"got .* \(2, 9\)"),
    "mask elsewhere": (K, V, torch.ones(2, 3, dtype=torch.bool, device="meta"), "move it with"),
}
ODD = {
    "more heads": (K.repeat(1, 2, 1, 1), V.repeat(1, 2, 1, 1), "got 2 sequences of 4 kv_heads"),
    "another batch": (K[:1], V[:1], "got 1 sequences"),
    "another head_dim": (K[..., :4], V, "got .* head_dim 4"),
    "another value_dim": (K, V[..., :4], "got .* value_dim 4"),
    "another type": (K.bfloat16(), V.bfloat16(), "holds .* torch.float32 .* got .* torch.bfloat16"),
    "another device": (K.to("meta"), V.to("meta"), "on cpu, got .* on meta"),
}


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch.compiler.reset()


@pytest.mark.parametrize("make", MAKES)
def test_mistakes_are_refused_in_one_line_and_change_nothing(make):
    cache = make()
    for k, v, key_mask, message in MISTAKES.values():
        with pytest.raises(ShapeError, match=message) as said:
            cache.extend(k, v, key_mask)
        assert "\n" not in str(said.value)
    cache.extend(K, V)
    for k, v, message in ODD.values():
        with pytest.raises(ShapeError, match=message) as said:
            cache.extend(k, v)
        assert "\n" not in str(said.value)
    for indices in (torch.tensor([[0, 1]]), torch.tensor([True, False]), torch.tensor([0.0])):
        with pytest.raises(ShapeError, match="whole numbers with one axis"):
            cache.select(indices)
    assert cache.tokens == 3


def test_mistakes_with_a_state_are_refused_in_one_line_and_change_nothing():
    cache = StateCache(Linear(causal=True))
    mistakes = MISTAKES | {"more queries": (K[:, :, :2], V[:, :, :2], None, "queries of the 2 new")}
    for k, v, key_mask, message in mistakes.values():
        with pytest.raises(ShapeError, match=message) as said:
            cache.stream(K, k, v, key_mask=key_mask)
        assert "\n" not in str(said.value)
    queries = {
        "must divide heads, got 2 kv_heads for 3 heads": K.repeat(1, 2, 1, 1)[:, :3],
        "k has 8 features per head, q has 7": K[..., :7],
        "one batch size, got 1, 2, 2": K[:1],
    }
    for message, q in queries.items():
        with pytest.raises(ShapeError, match=message):
            cache.stream(q, K, V)
    cache.stream(K, K, V)
    wider = (K.double(), V.double(), "holds .* torch.float32 .* got .* torch.float64")
    for k, v, message in (ODD | {"another type": wider}).values():
        with pytest.raises(ShapeError, match=message):
            cache.stream(k, k, v)
    assert cache.tokens == 3


@pytest.mark.parametrize("attention", ["window", None, Window], ids=str)
def test_what_is_no_pattern_has_no_cache(attention):
    with pytest.raises(ShapeError, match="pattern or mechanism such as"):
        cache_for(attention)


def test_a_compiled_layer_with_a_state_serves_all_tokens_with_few_graphs():
    layer = Attention(16, 2, Linear(causal=True), rope=Rope()).double()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(layer, fullgraph=True, backend=counter)
    x, cache = torch.randn(2, 12, 16, dtype=torch.float64), cache_for(layer.attention)
    with torch.no_grad():
        outs = [compiled(token, cache=cache) for token in x.split(1, 1)]
        torch.testing.assert_close(torch.cat(outs, 1), layer(x), rtol=0, atol=1e-10)
    assert counter.frame_count <= 3


@pytest.mark.parametrize(
    ("make", "pattern", "most"),
    [
        (DynamicCache, Strided(7), 5),
        (lambda: StaticCache(N), Causal(), 3),
        (lambda: RollingCache(9), Window(9), 4),
    ],
    ids=["dynamic", "static", "rolling"],
)
def test_a_compiled_step_serves_all_tokens_with_few_graphs(make, pattern, most, generator):
    def step(q, k, v, cache):
        k, v, key_mask = cache.extend(k, v)
        assert not reads_ahead(pattern, cache.tokens)
        return attend(q, k, v, pattern, key_mask=key_mask)

    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(step, fullgraph=True, backend=counter)
    qkv = [x.detach() for x in random_qkv(generator, N, N, heads=(4, 2), features=(8, 5))]
    cache = make()
    with torch.no_grad():
        outs = [compiled(*(x[:, :, t : t + 1] for x in qkv), cache) for t in range(N)]
    exact, _ = definition(*qkv, pattern.mask(N, N))
    torch.testing.assert_close(torch.cat(outs, 2), exact, rtol=0, atol=1e-12)
    assert counter.frame_count <= most


def test_a_graph_knows_what_reads_ahead():
    def doubled(x, pattern):
        return -x if reads_ahead(pattern, x.shape[0]) else 2 * x

    compiled = torch.compile(doubled, fullgraph=True, backend="aot_eager")
    for pattern, factor in ((Full(), -1), (Window(8), 2), (Window(9), 2), (Window(9, ahead=1), -1)):
        for n in (3, 5, 9):
            torch.testing.assert_close(
                compiled(torch.ones(n), pattern), torch.full((n,), factor, dtype=torch.float)
            )
