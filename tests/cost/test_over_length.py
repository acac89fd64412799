"""A module that is counted at five lengths is known at every length between them, or refused."""

import numpy as np
import pytest
import sympy
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from attncost import Block, Causal, Full, ShapeError, Window
from attncost.core.counts import symbol
from attncost.cost.counting.count import count
from attncost.cost.interface import SequenceCost
from attncost.cost.over_length import OverLength, Quadratic, over_length
from attncost.cost.reading import preset
from attncost.nn import Attention

LENGTHS = (1, 2, 3, 40, 200)


class Causally(nn.Module):
    """A layer that calls PyTorch's attention."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48, device="meta")
        self.out = nn.Linear(16, 16, device="meta")

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, 2, 8)).permute(2, 0, 3, 1, 4)
        out = scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(out.transpose(1, 2).flatten(2))


def counting(layer, *, training=False):
    def count_at(n):
        return count(layer, torch.empty(1, n, 16, device="meta"), training=training)

    return count_at


def ours(pattern):
    return Attention(16, 2, pattern).to("meta")


@pytest.mark.parametrize("training", [False, True])
def test_causal_attention_is_exact_at_every_length_between(training):
    found = over_length(counting(Causally(), training=training), lengths=LENGTHS)
    assert isinstance(found, OverLength)
    assert (found.shortest, found.longest, found.notes) == (1, 200, ())
    # Nothing asks for the gradient of the input, which the first projection would give.
    core, weights = (3, 2 * 768 + 3 * 256) if training else (1, 768 + 256)
    for n in (1, 2, 17, 128, 199, 200):
        pairs = sum(i + 1 for i in range(n))
        assert found.core(n).useful == core * 4 * 16 * pairs
        assert found.core(n).dense == core * 4 * 16 * n * n
        assert found.linear(n).useful == found.linear(n).dense == 2 * n * weights


def test_where_the_backward_pass_was_counted_the_forward_pass_is_known_alone():
    layer = Causally()
    layer.qkv.requires_grad_(False)
    both, forward = (
        over_length(counting(layer, training=training), lengths=LENGTHS)
        for training in (True, False)
    )
    assert both.forward == forward
    assert forward.forward is None
    # Of what is trained, the output alone learns, and its input needs no gradient.
    assert both.linear(7).useful - forward.linear(7).useful == 2 * 7 * 256
    assert both.core(7) == forward.core(7)


def test_what_is_computed_again_is_executed_alone():
    layer = Causally()

    def count_at(n):
        x = torch.empty(1, n, 16, device="meta", requires_grad=True)
        return count(lambda x: checkpoint(layer, x, use_reentrant=False), x, training=True)

    found, plain = (
        over_length(count_at, lengths=LENGTHS),
        over_length(counting(layer), lengths=LENGTHS),
    )
    for name in ("core", "linear"):
        again, once = getattr(found, name)(9), getattr(plain, name)(9)
        assert again.useful == 3 * once.useful
        assert again.dense == 3 * once.dense
        assert again.executed > 3 * once.executed


@pytest.mark.parametrize("pattern", [Full(), Causal()])
def test_it_agrees_with_counting_each_length_by_itself(pattern):
    count_at = counting(ours(pattern))
    found = over_length(count_at, lengths=LENGTHS)
    for n in (5, 77, 150):
        alone = count_at(n)
        assert found.core(n).useful + found.linear(n).useful == alone.useful
        assert found.core(n).dense + found.linear(n).dense == alone.dense


def test_numbers_symbols_and_many_lengths_agree():
    found = over_length(counting(ours(Causal())), lengths=LENGTHS)
    n, many = symbol("n"), np.array([1, 20, 200], dtype=object)
    for part in (found.core, found.linear):
        assert [sympy.sympify(part(n).useful).subs(n, at) for at in many] == [
            part(at).useful for at in many
        ]
        assert part(many).useful.tolist() == [part(at).useful for at in many]


def test_a_quadratic_is_found_from_any_three_lengths(generator):
    for a, b, c in torch.randint(-99, 99, (50, 3), generator=generator).tolist():
        x, y, z = (torch.randperm(500, generator=generator)[:3] + 1).tolist()
        points = [(n, a + b * n + c * n * (n - 1) // 2) for n in (x, y, z)]
        assert Quadratic.through(points) == Quadratic(a, b, c)
    assert Quadratic.through([(1, 0), (3, 1), (5, 2)]) is None  # half at every other length


@pytest.mark.parametrize("pattern", [Window(8), Window(33, ahead=16), Block(16)])
def test_what_bends_is_refused_with_the_lengths_that_disagree(pattern):
    with pytest.raises(ShapeError, match=r"no polynomial of degree 2: .* at 40, 200\. Windows"):
        over_length(counting(ours(pattern)), lengths=LENGTHS)


def test_a_window_that_lies_beyond_what_was_counted_is_never_answered_for():
    found = over_length(counting(ours(Window(201))), lengths=LENGTHS)
    assert found.core(200).useful == 4 * 16 * sum(i + 1 for i in range(200))
    for length in (0, 201, np.array([5, 300], dtype=object)):
        with pytest.raises(ShapeError, match=r"counted from 1 to 200 tokens, got (0|201|300):"):
            found.core(length)


def test_five_lengths_are_needed():
    for lengths in ((1, 2, 3, 4), (1, 2, 3, 3, 4), (0, 1, 2, 3, 4)):
        with pytest.raises(ShapeError, match="five or more different ones, each at least 1"):
            over_length(counting(ours(Full())), lengths=lengths)


def test_what_has_no_price_is_noted_as_at_least():
    class Odd(nn.Module):
        def forward(self, x):
            return torch.linalg.eigvalsh(x @ x.mT)

    found = over_length(counting(Odd()), lengths=LENGTHS)
    assert [note for note in found.notes if note.startswith("at least: aten::")]


def test_a_mask_that_cannot_be_read_is_noted_as_at_most():
    class Masked(nn.Module):
        def forward(self, x):
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device)
            q = x[:, None]
            return scaled_dot_product_attention(q, q, q, attn_mask=mask)

    found = over_length(counting(Masked()), lengths=LENGTHS)
    assert [note for note in found.notes if note.startswith("at most: ")]


@pytest.mark.parametrize("masked", [False, True])
def test_attention_that_is_written_by_hand_is_noted_where_its_mask_is_not_seen(masked):
    class ByHand(nn.Module):
        def forward(self, x):
            scores = x @ x.mT
            if masked:
                scores = scores.masked_fill(torch.ones_like(scores).triu(1) > 0, -torch.inf)
            return scores.softmax(-1) @ x

    found = over_length(counting(ByHand()), lengths=LENGTHS)
    assert found.core(10).useful == 2 * 2 * 16 * 100
    assert [note.partition(": ")[0] for note in found.notes] == ["at most"] * masked


def test_a_configuration_is_a_cost_over_length_too():
    costs = [preset("llama-3-8b"), over_length(counting(ours(Full())))]
    assert all(isinstance(one, SequenceCost) for one in costs)
    assert all(one.core(7).useful > 0 and one.linear(7).useful > 0 for one in costs)
