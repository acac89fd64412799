"""Mechanisms in one graph, on tensors without numbers, and given what does not belong together."""

import pytest
import torch
from tests.mechanisms.given import gradients
from tests.oracle import random_key_mask, random_qkv
from torch._subclasses.fake_tensor import FakeTensorMode

from attncost import Linear, Linformer, ShapeError, mechanisms
from attncost.mechanisms.interface import Recurrent
from attncost.nn.attention import Attention
from attncost.nn.cache_for import cache_for

MECHANISMS = [one for name in mechanisms.names() for one in mechanisms.load(name).examples()]
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
Q, K, V = torch.zeros(2, 4, 9, 8), torch.zeros(2, 2, 9, 8), torch.zeros(2, 2, 9, 5)
SEEN = torch.ones(2, 9, dtype=torch.bool)
MISTAKES = {
    "a mask to be added": ((Q, K, V), torch.zeros(2, 9), "must be boolean .* got torch.float32"),
    "a mask of numbers": ((Q, K, V), SEEN.long(), "must be boolean .* got torch.int64"),
    "a mask of one": ((Q, K, V), SEEN[:1], r"\(2, 9\), got \(1, 9\)"),
    "a mask of fewer": ((Q, K, V), SEEN[:, :8], r"\(2, 9\), got \(2, 8\)"),
    "a mask elsewhere": ((Q, K, V), SEEN.to("meta"), "all tensors must be on one device"),
    "three axes": ((Q[0], K[0], V[0]), None, "q must have 4 axes"),
    "heads": ((Q[:, :3], K, V), None, "kv_heads must divide heads, got 2 kv_heads for 3 heads"),
    "a batch": ((Q[:1], K, V), None, "must have one batch size, got 1, 2, 2"),
    "features": ((Q[..., :7], K, V), None, "k has 8 features per head, q has 7"),
    "values": ((Q, K, V[:, :, :8]), None, "every key must have one value"),
    "types": ((Q.double(), K, V), None, "one floating-point type, got torch.float64"),
}


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch.compiler.reset()


def compiled(function):
    return torch.compile(function, fullgraph=True, backend="aot_eager")


@pytest.mark.slow  # the compiler takes 5 s
def test_chunks_are_one_graph_with_the_same_values_and_gradients(generator):
    qkv = random_qkv(generator, 70, 66, heads=(4, 2), features=(8, 5))
    key_mask, mechanism = random_key_mask(generator, 66), Linear(causal=True)
    out, exact = (
        f(*qkv, {}, key_mask=key_mask) for f in (compiled(mechanism.attend), mechanism.attend)
    )
    torch.testing.assert_close(out, exact)
    torch.testing.assert_close(gradients(out, qkv), gradients(exact, qkv))


@pytest.mark.slow  # the compiler takes 2 s
def test_columns_of_each_head_are_one_graph(generator):
    qkv = random_qkv(generator, 7, 9, heads=(4, 2))
    shape = (2, 5, 12)
    parameters = {
        name: torch.randn(shape, dtype=torch.float64, generator=generator)
        for name in ("key_projection", "value_projection")
    }
    key_mask, mechanism = random_key_mask(generator, 9), Linformer(5, per_head=True)
    out, exact = (
        f(*qkv, parameters, key_mask=key_mask)
        for f in (compiled(mechanism.attend), mechanism.attend)
    )
    torch.testing.assert_close(out, exact)


def zeros(mechanism):
    """Return learned tensors for nine keys."""
    if not isinstance(mechanism, Linformer):
        return {}
    shape = (*([2] if mechanism.per_head else []), mechanism.rank, 9)
    return {name: torch.zeros(shape) for name in ("value_projection", "key_projection")}


@every_mechanism
@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_does_not_belong_together_is_refused_in_one_line(mechanism, mistake):
    qkv, key_mask, message = MISTAKES[mistake]
    ways = [mechanism.attend, mechanism.reference]
    if isinstance(mechanism, Recurrent) and mechanism.causal:
        ways += [mechanism.stream, cache_for(mechanism).stream]
    for way in ways[:3]:
        with pytest.raises(ShapeError, match=message) as said:
            way(*qkv, zeros(mechanism), key_mask=key_mask)
        assert "\n" not in str(said.value)
    for way in ways[3:]:  # in words for new tokens
        with pytest.raises(ShapeError):
            way(*qkv, zeros(mechanism), key_mask=key_mask)


@every_mechanism
def test_so_are_learned_tensors_which_are_named(mechanism):
    learned, other = zeros(mechanism), {"other": Q}
    mistakes = {r"needs learned tensors of shapes .*'other'": learned | other}
    for name, x in learned.items():
        rest = {key: y for key, y in learned.items() if key != name}
        mistakes |= {
            f"lacks {name}: make its learned tensors with length=9": rest,
            f"{name} must be like q, .* got torch.float64 on cpu": rest | {name: x.double()},
            f"{name} must be like q, .* got torch.float32 on meta": rest | {name: x.to("meta")},
        }
    if learned:
        mistakes["lacks key_projection, value_projection: make"] = {}
    for message, given in mistakes.items():
        for way in (mechanism.attend, mechanism.reference):
            with pytest.raises(ShapeError, match=message):
                way(Q, K, V, given)


@pytest.mark.parametrize("mechanism", [Linformer(4), Linear(), Linear(causal=True)], ids=str)
def test_a_module_refuses_a_mask_for_a_mechanism_as_for_a_pattern(mechanism):
    length = 9 if isinstance(mechanism, Linformer) else None
    layers = [Attention(8, 4, mechanism, length=length), Attention(8, 4)]
    added = torch.zeros(2, 9).masked_fill(torch.arange(9) > 6, -torch.inf)
    for mask in (added, SEEN.long(), SEEN[:1], SEEN[:, :8]):
        said = []
        for layer in layers:
            with pytest.raises(ShapeError) as error:
                layer(torch.zeros(2, 9, 8), key_mask=mask)
            said.append(str(error.value))
        assert said[0] == said[1]


@every_mechanism
@pytest.mark.parametrize("kind", ["meta", "fake"])
def test_shapes_alone_are_enough(mechanism, kind):
    def run(device):
        shapes = [(2, 4, 150, 8), (2, 2, 140, 8), (2, 2, 140, 5)]
        qkv = [torch.empty(shape, device=device) for shape in shapes]
        parameters = {
            name: torch.empty(
                (2, mechanism.rank, 140) if mechanism.per_head else (mechanism.rank, 140),
                device=device,
            )
            for name in ("key_projection", "value_projection")
            if isinstance(mechanism, Linformer)
        }
        key_mask = torch.ones(2, 140, dtype=torch.bool, device=device)
        for wishes in ({}, {"key_mask": key_mask}):
            assert mechanism.attend(*qkv, parameters, **wishes).shape == (2, 4, 150, 5)

    if kind == "meta":
        run("meta")
    else:
        with FakeTensorMode():
            run("cpu")
