"""Attention inside PyTorch's multi-head function as it is read, against its own weights."""

from itertools import product

import pytest
import torch
from tests.cost.counting.met import Met
from torch import nn
from torch.func import functional_call, stack_module_state
from torch.nn.functional import multi_head_attention_forward
from torch.utils.flop_counter import FlopCounterMode

from attncost.cost.counting.apis.multihead import MultiHeadAttentionForward

API = MultiHeadAttentionForward()

# Masks of two types are deprecated and still taken.
pytestmark = pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask")


def met(module, *args, **kwargs):
    """Return the one call that a module makes, and what it returns."""
    with Met(API) as mode:
        result = module(*args, **kwargs)
    (call,) = mode.calls
    return call, result


def some(generator, high):
    return int(torch.randint(1, high + 1, (), generator=generator))


def random_module(generator, **options):
    heads, features = some(generator, 3), some(generator, 4)
    more = {name: some(generator, 9) for name in ("kdim", "vdim") if some(generator, 2) == 1}
    wishes = {name: some(generator, 2) == 1 for name in ("add_bias_kv", "add_zero_attn", "bias")}
    return nn.MultiheadAttention(heads * features, heads, **more, **wishes, **options)


def random_inputs(module, generator):
    b, n, m = (some(generator, 5) for _ in range(3))
    sizes = ((n, module.embed_dim), (m, module.kdim), (m, module.vdim))
    return [torch.randn(length, b, width, generator=generator) for length, width in sizes]


def random_masks(module, q, k, generator):
    """Return masks of every type, that leave every query at least the first key."""
    (n, b), m = q.shape[:2], k.shape[0]
    several = (b * module.num_heads,) if some(generator, 2) == 1 else ()
    hidden = torch.rand(*several, n, m, generator=generator) < 0.4
    padding = torch.rand(b, m, generator=generator) < 0.4
    hidden[..., 0] = padding[..., 0] = False
    masks = {"attn_mask": hidden, "key_padding_mask": padding}
    for name, mask in list(masks.items()):
        wish = some(generator, 3)
        if wish == 1:
            del masks[name]
        elif wish == 2:
            masks[name] = torch.zeros(mask.shape).masked_fill(mask, -torch.inf)
    return masks


def test_pairs_are_those_that_get_a_weight_for_any_masks_and_sizes(generator):
    for _ in range(150):
        module = random_module(generator).train(some(generator, 2) == 1)
        q, k, v = random_inputs(module, generator)
        masks = random_masks(module, q, k, generator)
        call, (_, weights) = met(module, q, k, v, **masks, average_attn_weights=False)
        assert call.useful == int((weights > 0).sum()), masks
        assert call.executed == call.dense == weights.numel()
        assert call.unknown is None
        other, _ = met(module, q, k, v, **masks, need_weights=False)
        assert (other.useful, other.dims) == (call.useful, call.dims)


def test_dense_is_all_that_torch_counts_apart_from_the_projections(generator):
    for _ in range(60):
        module = random_module(generator)
        q, k, v = random_inputs(module, generator)
        with FlopCounterMode(display=False) as counter:
            call, _ = met(module, q, k, v)
        counted = counter.get_flop_counts()["Global"]
        batched = sum(counted.get(op, 0) for op in (torch.ops.aten.bmm, torch.ops.aten.baddbmm))
        assert call.forward().dense == batched


FROZEN = [frozen for frozen in product((True, False), repeat=3) if not all(frozen)]


@pytest.mark.parametrize("frozen", FROZEN)
@pytest.mark.parametrize("apart", [True, False])
def test_backward_is_what_torch_counts_of_its_products_of_activations(frozen, apart):
    sizes = {"kdim": 5, "vdim": 3} if apart else {}
    module = nn.MultiheadAttention(8, 2, bias=False, **sizes).requires_grad_(False)
    inputs = [
        torch.randn(length, 2, width, requires_grad=not stays)
        for length, width, stays in zip(
            (3, 4, 4), (8, module.kdim, module.vdim), frozen, strict=True
        )
    ]
    call, (out, _) = met(module, *inputs)
    with FlopCounterMode(display=False) as counter:
        out.sum().backward()
    counted = counter.get_flop_counts()["Global"]
    assert call.learns == tuple(not stays for stays in frozen)
    assert call.backward().executed == counted.get(torch.ops.aten.bmm, 0)


@pytest.mark.parametrize(
    ("learned", "learns"),
    [
        ("in_proj_weight", (True, True, True)),
        ("in_proj_bias", (True, True, True)),
        ("bias_k", (False, True, False)),
        ("bias_v", (False, False, True)),
        ("out_proj.weight", (False, False, False)),
        ("q_proj_weight", (True, False, False)),
        ("k_proj_weight", (False, True, False)),
        ("v_proj_weight", (False, False, True)),
    ],
)
def test_what_learns_is_what_is_made_of_a_learned_weight(learned, learns):
    sizes = {"kdim": 5, "vdim": 3} if "_proj_weight" in learned[1:] and learned[0] in "qkv" else {}
    module = nn.MultiheadAttention(8, 2, add_bias_kv=True, **sizes).requires_grad_(False)
    module.get_parameter(learned).requires_grad_()
    inputs = [torch.randn(3, 2, width) for width in (8, module.kdim, module.vdim)]
    assert met(module, *inputs)[0].learns == learns
    with torch.no_grad():
        assert met(module, *inputs)[0].learns == (False, False, False)


def test_a_learned_bias_asks_for_the_gradient_of_the_scores():
    module = nn.MultiheadAttention(8, 2).requires_grad_(False)
    x, bias = torch.randn(3, 2, 8), torch.zeros(3, 3, requires_grad=True)
    call, (out, _) = met(module, x, x, x, attn_mask=bias)
    with FlopCounterMode(display=False) as counter:
        out.sum().backward()
    counted = counter.get_flop_counts()["Global"]
    assert call.learns_bias
    assert call.backward().executed == counted[torch.ops.aten.bmm]


def random_tokens(length, batch, generator):
    return torch.randn(length, batch, 8, dtype=torch.float64, generator=generator)


def reads_by_change(module, x, **options):
    """Return which query's output moves when a key and its value do, for any head."""
    found = torch.zeros(len(x), len(x), dtype=torch.bool)
    for key in range(len(x)):
        moved = x.clone()
        moved[key] += 3
        change = module(x, moved, moved, **options)[0] - module(x, x, x, **options)[0]
        found[:, key] = (change.abs() > 1e-9).flatten(1).any(1)
    return found


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("added", [True, False])
def test_the_causal_hint_is_followed_exactly_where_torch_follows_it(
    need_weights, padded, added, generator
):
    """With a mask that is not causal one sees whether PyTorch looks at it."""
    module = nn.MultiheadAttention(8, 2, add_zero_attn=added, dtype=torch.float64)
    x, mask = random_tokens(5, 1, generator), torch.zeros(5, 5, dtype=torch.bool)
    mask[0, 4] = True
    options = {"attn_mask": mask, "is_causal": True, "need_weights": need_weights}
    if padded:
        options["key_padding_mask"] = torch.tensor([[False, False, False, False, True]])
    read = reads_by_change(module, x, **options)
    assert bool(read.tril().equal(read)) == (not need_weights and not padded)
    call, _ = met(module, x, x, x, **options)
    # No query comes after a key that is added last, so none reads it by the hint.
    always = 5 * added if need_weights or padded else 0
    assert call.useful == 2 * (int(read.sum()) + always)


def test_a_key_that_is_hidden_changes_nothing_and_one_that_is_read_does(generator):
    module = nn.MultiheadAttention(8, 2, dtype=torch.float64)
    x, hidden = random_tokens(6, 2, generator), torch.rand(6, 6, generator=generator) < 0.4
    hidden[:, 0] = False
    padding = torch.tensor([False, False, True, False, True, False]).expand(2, 6)
    options = {"attn_mask": hidden, "key_padding_mask": padding, "need_weights": False}
    read = reads_by_change(module, x, **options)
    assert met(module, x, x, x, **options)[0].useful == 2 * 2 * int(read.sum())


def test_one_sequence_without_a_batch_is_a_batch_of_one():
    module = nn.MultiheadAttention(8, 2)
    x, padding = torch.randn(5, 8), torch.tensor([False, False, True, False, True])
    call, (_, weights) = met(module, x, x, x, key_padding_mask=padding, average_attn_weights=False)
    assert call.useful == int((weights > 0).sum()) == 2 * 5 * 3
    assert (call.dims.batch, call.dense) == (1, 2 * 25)


def test_static_keys_take_the_place_of_those_that_are_projected():
    x, weight = torch.randn(3, 2, 8), torch.randn(24, 8)
    static = torch.randn(4, 6, 4, requires_grad=True)
    args = (x, x, x, 8, 2, weight, None, None, None, True, 0.0, torch.randn(8, 8), None)
    kwargs = {"static_k": static, "static_v": static.detach(), "average_attn_weights": False}
    with Met(API) as mode:
        _, weights = multi_head_attention_forward(*args, **kwargs)
    (call,) = mode.calls
    assert call.useful == call.dense == weights.numel() == 2 * 2 * 3 * 7
    assert call.learns == (False, True, False)


def test_sizes_without_values_count_alike_and_their_masks_leave_a_bound():
    for device, unknown in (
        ("cpu", None),
        ("meta", "the values of a mask on the meta device are unknown"),
    ):
        module = nn.MultiheadAttention(8, 2, device=device)
        x = torch.zeros(5, 1, 8, device=device)
        mask = torch.ones(5, 5, dtype=torch.bool, device=device).triu(1)
        call, _ = met(module, x, x, x, attn_mask=mask)
        assert call.dense == 2 * 25
        assert (call.useful, call.unknown) == (2 * (25 if unknown else 15), unknown)
        call, _ = met(module, x, x, x, attn_mask=mask, is_causal=True, need_weights=False)
        assert (call.useful, call.unknown) == (2 * 15, None)


def test_every_lane_of_vmap_is_counted():
    module, x = nn.MultiheadAttention(8, 2), torch.randn(3, 5, 2, 8)
    call, out = met(torch.vmap(lambda x: module(x, x, x)[0]), x)
    assert out.shape == x.shape
    assert call.dense == call.useful == 3 * 2 * 2 * 25


def test_a_batch_of_models_is_left_to_its_products():
    models = [nn.MultiheadAttention(8, 2)]
    weights, _ = stack_module_state(models)
    x = torch.randn(5, 2, 8)

    def run(weights, x):
        with Met(API) as mode:
            functional_call(models[0], weights, (x, x, x))
        assert not mode.calls
        return x

    torch.vmap(run, in_dims=(0, None))(weights, x)


def test_bytes_hold_the_weights_only_where_they_are_wanted():
    module, x = nn.MultiheadAttention(8, 2), torch.zeros(5, 3, 8)
    mask = torch.zeros(5, 5)
    whole, _ = met(module, x, x, x, attn_mask=mask)
    fused, _ = met(module, x, x, x, attn_mask=mask, need_weights=False)
    assert fused.bytes == 4 * 4 * x.numel() + 4 * 25
    assert whole.bytes - fused.bytes == 4 * 3 * (3 * 2 * 25)
    half, _ = met(module.half(), *[x.half()] * 3, need_weights=False)
    assert half.bytes == 2 * 4 * x.numel()


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
def test_the_layer_of_the_comparison_counts_as_derived_by_hand(train, need_weights):
    """Eight heads of 64 over 512 tokens: 4 * 512 * 512 * 512, projections apart."""
    module = nn.MultiheadAttention(512, 8, batch_first=True).train(train)
    x = torch.randn(1, 512, 512)
    call, _ = met(module, x, x, x, need_weights=need_weights)
    assert call.forward().dense == call.forward().useful == 536_870_912


def test_the_number_of_heads_changes_the_softmax_and_no_product():
    """facebookresearch/fvcore, issue 153."""
    x = torch.zeros(7, 1, 8)
    few, many = (met(nn.MultiheadAttention(8, h), x, x, x)[0].forward() for h in (2, 4))
    assert few.dense == many.dense
    assert many.elementwise == 2 * few.elementwise
