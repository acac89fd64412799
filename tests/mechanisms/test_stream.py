"""A recurrent mechanism reads a sequence in pieces as it reads it at once."""

import math

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.every import MECHANISMS
from tests.mechanisms.given import gradients
from tests.oracle import random_key_mask, random_qkv

from attncost import Linear, UnsupportedOption
from attncost.mechanisms.interface import Recurrent

RECURRENT = [one for one in MECHANISMS if isinstance(one, Recurrent) and one.causal]
every_recurrent = pytest.mark.parametrize("mechanism", RECURRENT, ids=str)
lawful = settings(
    derandomize=True,
    deadline=None,
    max_examples=8,
    database=None,
    phases=(Phase.generate, Phase.shrink),
)
# One token, a few, and more than a chunk.
pieces = st.lists(st.sampled_from([0, 1, 1, 2, 64, 70]), min_size=1, max_size=4)


def streamed(mechanism, qkv, lengths, key_mask=None):
    """Return what pieces of these lengths give, and the last state."""
    outs, state, start = [], None, 0
    for length in lengths:
        here = slice(start, start + length)
        mask = None if key_mask is None else key_mask[:, here]
        out, state = mechanism.stream(*(x[:, :, here] for x in qkv), {}, state=state, key_mask=mask)
        outs.append(out)
        start += length
    return torch.cat(outs, 2), state


@every_recurrent
def test_pieces_of_any_lengths_give_the_whole(mechanism):
    @lawful
    @given(pieces, st.booleans(), st.integers(0, 9))
    def law(lengths, masked, seed):
        generator = torch.Generator().manual_seed(seed)
        n = sum(lengths)
        qkv = random_qkv(generator, n, n, heads=(4, 2), features=(8, 5))
        key_mask = random_key_mask(generator, n) if masked else None
        whole = mechanism.attend(*qkv, {}, key_mask=key_mask)
        parts, _ = streamed(mechanism, qkv, lengths, key_mask)
        torch.testing.assert_close(parts, whole)
        torch.testing.assert_close(gradients(parts, qkv), gradients(whole, qkv))

    law()


@every_recurrent
def test_the_state_has_one_size_and_a_row_for_each_sequence(mechanism, generator):
    qkv = [x.detach().bfloat16() for x in random_qkv(generator, 200, 200, heads=(4, 2), batch=3)]
    sizes = set()
    for lengths in ([], [1], [64], [200], [1] * 5):
        _, state = streamed(mechanism, qkv, [0, *lengths])
        assert all(len(x) == 3 and x.dtype is torch.float32 for x in state)
        sizes.add(sum(x.untyped_storage().nbytes() for x in state))
    assert len(sizes) == 1


@every_recurrent
def test_a_state_that_was_given_stays_as_it_was(mechanism, generator):
    qkv = random_qkv(generator, 9, 9)
    _, state = mechanism.stream(*qkv, {})
    before = [x.clone() for x in state]
    mechanism.stream(*qkv, {}, state=tuple(state))
    assert all(map(torch.equal, before, state))


@every_recurrent
def test_after_a_token_that_is_nan_nothing_looks_healthy(mechanism, generator):
    q, k, v = (x.detach() for x in random_qkv(generator, 20, 20))
    k[:, :, 7] = math.nan
    out, _ = streamed(mechanism, (q, k, v), [5, 10, 5])
    assert out[:, :, :7].isfinite().all()
    assert out[:, :, 7:].isnan().all()


@every_recurrent
def test_what_a_masked_token_holds_leaves_no_trace(mechanism, generator):
    q, k, v = (x.detach() for x in random_qkv(generator, 20, 20))
    key_mask = torch.arange(20).expand(2, 20) % 3 > 0
    clean, state = streamed(mechanism, (q, k, v), [5, 15], key_mask)
    k, v = (x.masked_fill(~key_mask[:, None, :, None], math.nan) for x in (k, v))
    dirty, other = streamed(mechanism, (q, k, v), [5, 15], key_mask)
    assert torch.equal(clean, dirty)
    assert all(map(torch.equal, state, other))


def test_what_reads_ahead_cannot_be_streamed(generator):
    with pytest.raises(UnsupportedOption, match=r"take Linear\('elu', causal=True\)"):
        Linear().stream(*random_qkv(generator, 3, 3), {})
