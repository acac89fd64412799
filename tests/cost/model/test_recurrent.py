"""States, against recurrences written as products of matrices that torch counts as they run.

Each is written twice, token by token and in chunks. Both must give the same numbers, so that what
is counted is the thing itself.
"""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attncost.core.counts import lengths, symbol
from attncost.cost.model.delta import GatedDelta
from attncost.cost.model.kda import KimiDelta
from attncost.cost.model.mamba2 import Mamba2

HEADS, WIDE, TOKENS = 4, 6, 21
CHUNK = 8
DELTAS = [
    GatedDelta(d_model=32, key_heads=2, value_heads=HEADS, key_dim=6, value_dim=10, chunk=CHUNK),
    KimiDelta(d_model=32, heads=HEADS, head_dim=WIDE, chunk=CHUNK),
]
SPACE = Mamba2(d_model=32, heads=HEADS, head_dim=6, groups=2, state_dim=10, chunk=CHUNK)


def random(generator, *shape):
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def shares(generator, *shape):
    return torch.rand(*shape, dtype=torch.float64, generator=generator)


def counted(run, *inputs):
    with FlopCounterMode(display=False) as counter:
        return run(*inputs), counter.get_total_flops()


def padded(x):
    missing = -x.shape[1] % CHUNK
    return torch.cat([x, x.new_zeros(len(x), missing, *x.shape[2:])], dim=1)


def deltas(generator, value_dim):
    queries, keys = random(generator, 2, HEADS, TOKENS, WIDE)
    keys = torch.nn.functional.normalize(keys, dim=-1)
    decays = -shares(generator, HEADS, TOKENS, WIDE)  # logarithms
    strengths = shares(generator, HEADS, TOKENS, 1)
    return queries, keys, random(generator, HEADS, TOKENS, value_dim), decays, strengths


def delta_by_token(q, k, v, decays, strengths):
    state, out = q.new_zeros(HEADS, WIDE, v.shape[-1]), []
    for t in range(q.shape[1]):
        state = decays[:, t].exp()[..., None] * state
        recalled = torch.bmm(k[:, t : t + 1], state)
        change = strengths[:, t : t + 1] * (v[:, t : t + 1] - recalled)
        state = state + torch.bmm(k[:, t : t + 1].mT, change)
        out.append(torch.bmm(q[:, t : t + 1], state))
    return torch.cat(out, dim=1)


def inverse(triangle):
    rows = [torch.eye(CHUNK, dtype=triangle.dtype).expand(HEADS, -1, -1)[:, :1]]
    for i in range(1, CHUNK):
        above = torch.cat(rows, dim=1)
        row = -torch.bmm(triangle[:, i : i + 1, :i], above[..., :i])
        rest = torch.eye(CHUNK, dtype=row.dtype)[i, i:].expand(HEADS, 1, -1)
        rows.append(torch.cat([row, rest], dim=-1))
    return torch.cat(rows, dim=1)


def delta_by_chunk(*inputs):
    state, out = None, []
    for start in range(0, TOKENS, CHUNK):
        q, k, v, decays, strengths = (padded(x)[:, start : start + CHUNK] for x in inputs)
        state = k.new_zeros(HEADS, WIDE, v.shape[-1]) if state is None else state
        since = decays.cumsum(dim=1)
        down, up = k * since.exp(), k * (-since).exp()
        solved = inverse((strengths * torch.bmm(down, up.mT)).tril(-1))
        change = torch.bmm(solved, strengths * v)
        change = change - torch.bmm(torch.bmm(solved, strengths * down), state)
        weights = torch.bmm(q * since.exp(), up.mT).tril()
        out.append(torch.bmm(q * since.exp(), state) + torch.bmm(weights, change))
        until = (since[:, -1:] - since).exp()
        state = since[:, -1, :, None].exp() * state + torch.bmm((k * until).mT, change)
    return torch.cat(out, dim=1)[:, :TOKENS]


@pytest.mark.parametrize("mixer", DELTAS, ids=["gated", "kimi"])
def test_a_delta_rule_costs_what_its_products_cost(mixer, generator):
    inputs = deltas(generator, mixer.recurrence.columns)
    by_token, useful = counted(delta_by_token, *inputs)
    by_chunk, executed = counted(delta_by_chunk, *inputs)
    torch.testing.assert_close(by_chunk, by_token)
    core = mixer.core(TOKENS, TOKENS)
    assert (core.useful, core.dense, core.executed) == (useful, useful, executed)
    _, step = mixer.decode(10_000)
    assert step.useful * TOKENS == step.executed * TOKENS == useful


def space_by_token(x, b, c, decays):
    state, out = x.new_zeros(HEADS, 6, 10), []
    for t in range(TOKENS):
        written, asked = (one[:, t : t + 1].repeat_interleave(2, dim=0) for one in (b, c))
        state = decays[:, t].exp()[..., None] * state + torch.bmm(x[:, t : t + 1].mT, written)
        out.append(torch.bmm(asked, state.mT))
    return torch.cat(out, dim=1)


def space_by_chunk(*inputs):
    state, out = inputs[0].new_zeros(HEADS, 6, 10), []
    for start in range(0, TOKENS, CHUNK):
        x, b, c, decays = (padded(one)[:, start : start + CHUNK] for one in inputs)
        since = decays.cumsum(dim=1)
        met = torch.bmm(c, b.mT).repeat_interleave(2, dim=0)
        weights = (met * (since - since.mT).exp()).tril()
        written, asked = (one.repeat_interleave(2, dim=0) for one in (b, c))
        out.append(torch.bmm(weights, x) + torch.bmm(asked * since.exp(), state.mT))
        until = (since[:, -1:] - since).exp()
        state = since[:, -1:].exp() * state + torch.bmm(x.mT, written * until)
    return torch.cat(out, dim=1)[:, :TOKENS]


def test_a_state_space_costs_what_its_products_cost(generator):
    b, c = random(generator, 2, 2, TOKENS, 10)
    inputs = random(generator, HEADS, TOKENS, 6), b, c, -shares(generator, HEADS, TOKENS, 1)
    by_token, useful = counted(space_by_token, *inputs)
    by_chunk, executed = counted(space_by_chunk, *inputs)
    torch.testing.assert_close(by_chunk, by_token)
    core = SPACE.core(TOKENS, TOKENS)
    assert (core.useful, core.dense, core.executed) == (useful, useful, executed)
    _, step = SPACE.decode(10_000)
    assert step.useful * TOKENS == step.executed * TOKENS == useful


@pytest.mark.parametrize("mixer", [*DELTAS, SPACE], ids=["gated", "kimi", "mamba2"])
def test_a_state_costs_as_much_for_every_token_and_keeps_none(mixer):
    many = mixer.core(lengths(40), lengths(40))
    assert many.useful.tolist() == [n * many.useful[0] for n in range(1, 41)]
    assert all(many.executed >= many.useful)
    assert (mixer.cached(40), mixer.softmax_heads) == (0, 0)
    assert mixer.state == mixer.recurrence.size + mixer.recent
    # One token reads the state and writes it, in float32, beside its own numbers.
    step = mixer.decode(1)[1]
    assert step.bytes == 4 * (2 * mixer.recurrence.size + mixer.moved)


def numbers(*shapes):
    return sum(torch.Size(shape).numel() for shape in shapes)


def test_what_is_kept_and_alive_is_what_chunked_kernels_need():
    """Written out tensor by tensor, for kernels that compute states again in the backward pass.

    Of each: what the convolution reads and gives, gates, what the recurrence returns, the gate of
    the output, and what the last product reads; of a delta rule, triangles of each chunk.
    """
    n, chunks = TOKENS, 3
    gated, kimi = DELTAS
    mixed, values, gates = (n, 2 * 2 * 6 + 4 * 10), (n, 4 * 10), (n, 2, HEADS)
    triangle, states = (n, HEADS, CHUNK), (chunks, HEADS, 6, 10)
    kept = numbers(mixed, mixed, gates, triangle, values, values, values)
    assert gated.kept(n, keeps_weights=False) == kept
    assert gated.live(n, keeps_weights=False) == numbers(
        mixed, values, gates, mixed, values, states
    )

    wide, narrow, strengths = (n, HEADS, WIDE), (n, WIDE), (n, HEADS)
    decays, outputs = (wide, wide), (wide, wide, wide)
    kept = numbers(*6 * (wide,), *decays, *outputs, narrow, narrow, strengths, triangle, triangle)
    assert kimi.kept(n, keeps_weights=False) == kept
    live = numbers(*5 * (wide,), strengths, *4 * (wide,), (chunks, HEADS, WIDE, WIDE))
    assert kimi.live(n, keeps_weights=False) == live

    inner, mixed = (n, HEADS, 6), (n, HEADS * 6 + 2 * 2 * 10)
    projected = (inner, mixed, strengths)
    kept = numbers(*projected, mixed, inner, inner)
    assert SPACE.kept(n, keeps_weights=False) == kept
    live = numbers(*projected, mixed, inner, (chunks, HEADS, 6, 10))
    assert SPACE.live(n, keeps_weights=False) == live


@pytest.mark.parametrize("mixer", [*DELTAS, SPACE], ids=["gated", "kimi", "mamba2"])
def test_formulas_of_a_state_hold_symbols(mixer):
    n = symbol("n")
    formula = mixer.core(n, n)
    for length in (1, CHUNK, CHUNK + 1, 40):
        core = mixer.core(length, length)
        assert formula.useful.subs(n, length) == core.useful
        assert formula.executed.subs(n, length) == core.executed
