"""Formulas and counts of random calls; pairs by brute force over dense masks are the oracle."""

from operator import and_, or_
from random import Random

import pytest
import torch
from tests.oracle import read
from torch.nn.functional import scaled_dot_product_attention as sdpa

import attncost as ac
from attncost import kernels, mechanisms, patterns
from attncost.core.options import Options
from attncost.kernels.interface import Call, priced

# Of a pattern 20 x (16 + 3 x 3) draws, of PyTorch's own masks 20 x 3.
every_seed = pytest.mark.parametrize("seed", range(20))
CALLS, OTHERS = 16, 3
# Many random blocks take a second to draw where every call's types are checked.
EXAMPLES = [
    [one for one in patterns.load(name).examples() if getattr(one, "random_blocks", 0) < 10]
    for name in patterns.names()
]
KERNELS = {name: kernels.kernel(name) for name in kernels.names()}


def some_pattern(rng):
    """Draw a pattern of the catalogue, each as often, or one made of two."""
    one, other = (rng.choice(rng.choice(EXAMPLES)) for _ in range(2))
    made = rng.choice([None] * 6 + [and_, or_, "not"])
    if made == "not":
        return ~one
    return made(one, other) if made else one


def some_sizes(rng):
    g = rng.randint(1, 3)
    length = rng.choice([3, 12, 36])
    return ac.Dims(
        batch=rng.randint(1, 3),
        heads=g * rng.randint(1, 3),
        kv_heads=g,
        length=rng.randint(1, length),
        kv_length=rng.randint(1, length),
        head_dim=rng.randint(1, 9),
        value_dim=rng.randint(1, 9),
    )


def some_kernel(rng, pattern, dims, *, grad):
    """Draw any that takes the call, so that each is met."""
    call = Call(pattern, dims, Options(), grad=grad)
    able = [name for name, one in KERNELS.items() if one.refuses(call) is None]
    return rng.choice(able)


def tensors(dims, *, grad=False):
    b, h, g = dims.batch, dims.heads, dims.kv_heads
    shapes = [
        (b, h, dims.length, dims.head_dim),
        (b, g, dims.kv_length, dims.head_dim),
        (b, g, dims.kv_length, dims.value_dim),
    ]
    return [torch.ones(shape, requires_grad=grad) for shape in shapes]


def flops(dims, pairs):
    """Return the FLOPs of so many pairs, those of all sequences and heads together."""
    return 2 * pairs * (dims.head_dim + dims.value_dim)


def everything(dims):
    return flops(dims, dims.batch * dims.heads * dims.length * dims.kv_length)


def exact(found, useful, dense, said):
    assert (found.useful, found.dense) == (useful, dense), said
    assert not found.at_least, said
    assert not found.at_most, said


@every_seed
def test_a_call_of_attention_costs_its_pairs_and_what_the_formula_says(seed):
    rng = Random(seed)
    for draw in range(CALLS):
        pattern, dims, trains = some_pattern(rng), some_sizes(rng), draw % 5 == 0
        kernel = some_kernel(rng, pattern, dims, grad=trains)
        q, k, v = tensors(dims, grad=trains)
        found = ac.count(ac.attention, q, k, v, pattern, kernel=kernel, training=trains)
        pairs = int(pattern.mask(dims.length, dims.kv_length).sum())
        useful = flops(dims, dims.batch * dims.heads * pairs)
        times, said = 3 if trains else 1, f"{pattern}, {dims}, {kernel}, {trains}"
        exact(found, times * useful, times * everything(dims), said)
        formula = priced(pattern, dims)
        assert (formula.useful, formula.dense) == (useful, everything(dims)), said


@every_seed
def test_what_padding_and_documents_hide_is_not_counted(seed):
    rng, generator = Random(seed), torch.Generator().manual_seed(seed)
    for _ in range(OTHERS):
        pattern, dims = some_pattern(rng), some_sizes(rng)
        b, n, m = dims.batch, dims.length, dims.kv_length
        wishes = {
            "key_mask": torch.rand(b, m, generator=generator) < rng.random(),
            "segments": torch.randint(rng.randint(1, 4), (b, max(n, m)), generator=generator),
        }
        asked = {name: wishes[name] for name in rng.sample(sorted(wishes), rng.randint(1, 2))}
        found = ac.count(ac.attention, *tensors(dims), pattern, **asked)
        pairs = int(read(pattern.mask(n, m), **asked).expand(b, dims.heads, n, m).sum())
        exact(found, flops(dims, pairs), everything(dims), f"{pattern}, {dims}, {asked}")


@every_seed
def test_a_call_of_pytorch_costs_the_pairs_of_its_mask(seed):
    rng, generator = Random(seed), torch.Generator().manual_seed(seed)
    for draw in range(OTHERS):
        dims, trains = some_sizes(rng), draw == 0
        shape = (dims.batch, dims.heads, dims.length, dims.kv_length)
        mask = torch.rand(
            [rng.choice([1, size]) for size in shape[:2]] + [*shape[2:]], generator=generator
        )
        kind = rng.choice(["full", "causal", "bool", "float"])
        reads, options = {
            "full": (torch.ones(shape), {}),
            # The first query stands at the first key.
            "causal": (torch.ones(shape).tril(), {"is_causal": True}),
            "bool": (mask < 0.5, {"attn_mask": mask < 0.5}),
            "float": (mask < 0.5, {"attn_mask": mask.masked_fill(mask >= 0.5, -torch.inf)}),
        }[kind]
        options["enable_gqa"] = dims.heads != dims.kv_heads
        found = ac.count(sdpa, *tensors(dims, grad=trains), training=trains, **options)
        times, pairs = 3 if trains else 1, int(reads.expand(shape).sum())
        exact(found, times * flops(dims, pairs), times * everything(dims), f"{kind}, {dims}")


@every_seed
def test_a_layer_costs_what_the_formula_of_a_layer_says(seed):
    rng = Random(seed)
    for draw in range(OTHERS):
        pattern, trains, heads = some_pattern(rng), draw == 0, rng.randint(1, 4)
        if draw == 1:
            pattern = rng.choice(mechanisms.load("linformer").examples())
        d_model, b, n = heads * rng.randint(1, 8), rng.randint(1, 3), rng.randint(1, 36)
        layer = ac.nn.Attention(
            d_model, heads, pattern, length=n if isinstance(pattern, ac.Mechanism) else None
        )
        x = torch.ones(b, n, d_model, requires_grad=trains)
        found = ac.count(layer, x, training=trains)
        formula = ac.layer_cost(pattern, d_model=d_model, heads=heads, length=n)
        times = b * (3 if trains else 1)
        said = f"{pattern}, {d_model} features, {heads} heads, {b} x {n}, {trains}"
        exact(found, times * formula.useful, times * formula.dense, said)


@every_seed
def test_a_block_costs_what_the_formula_of_a_block_says(seed):
    rng = Random(seed)
    for draw in range(OTHERS):
        pattern, trains, g = some_pattern(rng), draw == 0, rng.randint(1, 3)
        block = ac.BlockSizes(
            d_model=rng.randint(1, 20),
            heads=g * rng.randint(1, 3),
            kv_heads=g,
            head_dim=rng.randint(1, 8),
            hidden=rng.randint(1, 30),
            fused_qkv=rng.random() < 0.5,
        )
        layer = ac.nn.Attention(
            block.d_model, block.heads, pattern, kv_heads=g, head_dim=block.head_dim
        )
        b, n = rng.randint(1, 3), rng.randint(1, 36)
        module = ac.nn.TransformerBlock(layer, hidden=block.hidden)
        x = torch.ones(b, n, block.d_model, requires_grad=trains)
        found = ac.count(module, x, training=trains)
        formula, times = ac.block_cost(pattern, block, length=n), b * (3 if trains else 1)
        pairs = int(pattern.mask(n, n).sum())
        said = f"{pattern}, {block}, {b} x {n}, {trains}"
        exact(found, times * formula.useful, times * formula.dense, said)
        assert formula.dense - formula.useful == 4 * block.heads * block.head_dim * (n * n - pairs)
