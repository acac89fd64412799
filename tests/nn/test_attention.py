"""The module against the definition of attention between projections written out."""

import copy
import pickle

import pytest
import torch
from tests.nn.projected import attended, combined, projected
from torch.utils.checkpoint import checkpoint

from attncost import (
    BigBird,
    Causal,
    Dims,
    Full,
    Linear,
    Linformer,
    Window,
    attention,
)
from attncost.nn.attention import Attention
from attncost.nn.dynamic_cache import DynamicCache
from attncost.nn.rolling_cache import RollingCache
from attncost.nn.rope import Rope
from attncost.nn.static_cache import StaticCache

D, H, N = 32, 4, 40
SHAPES = [
    (Full(), {}),
    (Window(7), {"kv_heads": 2, "head_dim": 10, "bias": False}),
    (Causal(), {"kv_heads": 1, "qk_norm": True, "rope": Rope()}),
    (BigBird(8, longest=64), {"rope": Rope(base=50.0, dims=4)}),
]
every_shape = pytest.mark.parametrize(("pattern", "options"), SHAPES, ids=str)


def made(generator, *args, **options):
    """Return a module in float64 whose weights are all drawn, those of the norms as well."""
    layer = Attention(D, H, *args, **options).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_(generator=generator).mul_(0.3)
    return layer


def tokens(generator, n=N, batch=2):
    return torch.randn(batch, n, D, dtype=torch.float64, generator=generator).requires_grad_()


def gradients(out, layer, *inputs):
    return torch.autograd.grad(out.square().sum(), [*inputs, *layer.parameters()])


@every_shape
def test_equals_the_definition_between_projections(pattern, options, generator):
    layer, x = made(generator, pattern, **options), tokens(generator)
    wishes = {"key_mask": torch.rand(2, N, generator=generator) > 0.3}
    wishes["segments"] = (torch.arange(N) // 15).expand(2, N)
    out, expected = layer(x, **wishes), attended(layer, x, **wishes)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(gradients(out, layer, x), gradients(expected, layer, x))


@pytest.mark.parametrize("options", [{}, {"kv_heads": 2, "bias": False, "qk_norm": True}], ids=str)
@pytest.mark.parametrize("m", [9, 60])
def test_keys_may_come_from_another_sequence(options, m, generator):
    layer, x, context = made(generator, **options), tokens(generator), tokens(generator, m)
    key_mask = torch.rand(2, m, generator=generator) > 0.3
    out = layer(x, context, key_mask=key_mask)
    expected = attended(layer, x, context, key_mask=key_mask)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(
        gradients(out, layer, x, context), gradients(expected, layer, x, context)
    )
    torch.testing.assert_close(layer(x, x), layer(x))


def test_a_query_that_reads_nothing_gets_the_bias_alone(generator):
    layer, x = made(generator, Causal()), tokens(generator)
    key_mask = torch.ones(2, N, dtype=torch.bool)
    key_mask[0, :5] = False
    out = layer(x, key_mask=key_mask)
    assert torch.equal(out[0, :5], layer.out.bias.expand(5, D))
    (gradient,) = torch.autograd.grad(out[0, :5].sum(), x)
    assert not gradient.any()


@pytest.mark.parametrize("m", [None, 25])
@pytest.mark.parametrize("padded", [False, True], ids=["", "padded"])
def test_a_mechanism_owns_what_it_learns_and_honours_padding(padded, m, generator):
    keys = m or N
    layer, x = made(generator, Linformer(6), kv_heads=2, length=N), tokens(generator)
    context = None if m is None else tokens(generator, m)
    key_mask = torch.arange(keys) >= torch.tensor([[9], [0]]) if padded else None
    learned = {
        name: getattr(layer.learned, name) for name in ("key_projection", "value_projection")
    }
    assert {f"learned.{name}" for name in learned} < set(layer.state_dict())
    out = layer(x, context, key_mask=key_mask)
    qkv = projected(layer, x, context)
    mixed = layer.attention.reference(*qkv, learned, key_mask=key_mask)
    expected = combined(layer, mixed)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(gradients(out, layer, x), gradients(expected, layer, x))


@pytest.mark.parametrize(
    "mixing", [Linformer(6), Linear(), Linear("softmax", causal=True)], ids=str
)
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_mechanism_computes_padded_texts_as_it_does_alone(mixing, side, generator):
    length = N if isinstance(mixing, Linformer) else None
    layer, x = made(generator, mixing, rope=None, length=length), tokens(generator).detach()
    text = slice(9, None) if side == "left" else slice(N - 9)
    key_mask = torch.ones(2, N, dtype=torch.bool)
    key_mask[0] = False
    key_mask[0, text] = True
    spoilt = x.masked_fill(~key_mask[..., None], torch.nan)
    out = layer(spoilt, key_mask=key_mask)
    torch.testing.assert_close(out[:1, text], layer(x[:1, text]))
    torch.testing.assert_close(out[1:], layer(x[1:]))


@pytest.mark.parametrize("length", [64, 1024])
def test_a_new_mixture_is_as_large_as_what_it_mixes(length, generator):
    torch.manual_seed(0)
    layer = Attention(D, H, Linformer(128), length=length)
    keys = torch.randn(length, 256, generator=generator)
    for projection in layer.learned.values():
        assert (projection @ keys).std().item() == pytest.approx(1, abs=0.05)


def test_weights_are_dropped_in_training_alone(generator):
    layer, x = made(generator, Window(9), dropout=0.5), tokens(generator)
    kept = made(generator, Window(9))
    kept.load_state_dict(layer.state_dict())
    assert torch.equal(layer.eval()(x), kept(x))
    layer.train()
    torch.manual_seed(3)
    first, other = layer(x), layer(x)
    torch.manual_seed(3)
    assert torch.equal(layer(x), first)
    assert not torch.isclose(other, first).any(-1).all()
    torch.manual_seed(3)
    mixed = attention(*projected(layer, x), Window(9), dropout_p=0.5)
    torch.testing.assert_close(combined(layer, mixed), first)


CACHES = {
    "dynamic": (Causal(), DynamicCache),
    "static": (Causal(), lambda: StaticCache(N)),
    "rolling": (Window(6), lambda: RollingCache(6)),
    "dynamic window": (Window(6), DynamicCache),
    "positions": (BigBird(8, longest=64) & Causal(), DynamicCache),
}


@pytest.mark.parametrize("kind", CACHES)
@pytest.mark.parametrize("padded", [False, True], ids=["", "padded on the left"])
def test_decoding_token_by_token_equals_one_call(kind, padded, generator):
    pattern, cache = CACHES[kind]
    layer = made(generator, pattern, kv_heads=2, qk_norm=True, rope=Rope())
    x, cache = tokens(generator), cache()
    key_mask = torch.arange(N) >= torch.tensor([[9], [0]]) if padded else None
    steps, start = [], 0
    for size in (12, 1, 5, *[1] * (N - 18)):
        new = slice(start, start + size)
        mask = None if key_mask is None else key_mask[:, new]
        with torch.no_grad():
            steps.append(layer(x[:, new], key_mask=mask, cache=cache))
        start += size
    assert cache.tokens == N
    torch.testing.assert_close(torch.cat(steps, 1), layer(x, key_mask=key_mask).detach())


def test_gradients_flow_through_a_growing_cache(generator):
    layer, x, cache = made(generator, Causal(), rope=Rope()), tokens(generator), DynamicCache()
    steps = torch.cat([layer(part, cache=cache) for part in x.split(15, 1)], 1)
    torch.testing.assert_close(gradients(steps, layer, x), gradients(layer(x), layer, x))


@pytest.mark.parametrize("rope", [None, Rope()])
def test_decoding_under_autocast_keeps_one_type(rope, generator):
    layer = made(generator, Causal(), qk_norm=True, rope=rope).float()
    x, cache = tokens(generator).float().detach(), DynamicCache()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        steps = torch.cat([layer(part, cache=cache) for part in x.split(15, 1)], 1)
        torch.testing.assert_close(steps, layer(x), atol=0.1, rtol=0.05)


@every_shape
def test_copies_and_saved_weights_compute_the_same(pattern, options, generator, tmp_path):
    layer, x = made(generator, pattern, dropout=0.1, **options).eval(), tokens(generator)
    fresh = Attention(D, H, pattern, **options).double()
    torch.save(layer.state_dict(), tmp_path / "weights.pt")
    fresh.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    for same in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), fresh):
        assert torch.equal(same(x), layer(x))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("mixing", [Window(9), Linformer(6), Linear(causal=True)], ids=str)
def test_half_precision_stays_close(dtype, autocast, mixing, generator):
    length = N if isinstance(mixing, Linformer) else None
    layer = made(generator, mixing, qk_norm=True, rope=Rope(), length=length)
    x = tokens(generator).detach()
    exact = layer(x)
    with torch.autocast("cpu", dtype, enabled=autocast):
        own = torch.float32 if autocast else dtype
        out = layer.to(own)(x.to(own))
    assert out.dtype == dtype
    out.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())
    torch.testing.assert_close(out.double(), exact, atol=0.1, rtol=0.1)


@pytest.mark.parametrize("mixing", [Window(3), Linear(causal=True), Linear()], ids=str)
@pytest.mark.parametrize(("batch", "n"), [(0, 5), (2, 0), (0, 0)])
def test_nothing_comes_of_nothing(mixing, batch, n, generator):
    layer = made(generator, mixing, kv_heads=2, rope=Rope(), qk_norm=True)
    x = tokens(generator, n, batch)
    out = layer(x)
    assert out.shape == (batch, n, D)
    assert not any(gradient.any() for gradient in gradients(out, layer, x))


def test_checkpointing_changes_no_gradient(generator):
    layer, x = made(generator, Window(9), dropout=0.3, rope=Rope()), tokens(generator)
    torch.manual_seed(1)
    plain = gradients(layer(x), layer, x)
    torch.manual_seed(1)
    torch.testing.assert_close(
        gradients(checkpoint(layer, x, use_reentrant=False), layer, x), plain, rtol=0, atol=0
    )


@pytest.mark.parametrize("mixing", [Window(9), Linformer(6), Linear(causal=True)], ids=str)
def test_shapes_without_numbers(mixing):
    length = N if isinstance(mixing, Linformer) else None
    with torch.device("meta"):
        layer = Attention(D, H, mixing, qk_norm=True, rope=Rope(), length=length)
        assert layer(torch.empty(2, N, D)).shape == (2, N, D)
    assert {parameter.device.type for parameter in layer.parameters()} == {"meta"}
    moved = Attention(D, H, mixing, length=length).to(device="meta")
    assert moved(torch.empty(2, N, D, device="meta")).is_meta


def test_shows_pattern_and_sizes():
    shown = repr(Attention(D, H, Window(9), kv_heads=2, rope=Rope(), dropout=0.1))
    assert "(\n  Window(width=9, ahead=0), d_model=32, heads=4, kv_heads=2, head_dim=8, " in shown
    assert "rope=Rope(base=10000.0, dims=None), dropout=0.1\n" in shown


def test_the_cost_of_what_it_learns_is_that_of_the_mechanism():
    layer = Attention(D, H, Linformer(6), kv_heads=2, length=N)
    dims = Dims(heads=H, kv_heads=2, length=N, head_dim=8)
    shapes = {name: tuple(one.shape) for name, one in layer.learned.items()}
    assert shapes == Linformer(6).parameters(dims)


def test_what_hooks_into_the_projection_also_acts_on_a_context(generator):
    layer, x, context = made(generator), tokens(generator), tokens(generator, 30)
    layer.qkv.register_forward_hook(lambda _module, _inputs, out: out * 2)
    twice = made(generator)
    twice.load_state_dict(layer.state_dict())
    with torch.no_grad():
        twice.qkv.weight.mul_(2)
        twice.qkv.bias.mul_(2)
    torch.testing.assert_close(layer(x, context), twice(x, context))
