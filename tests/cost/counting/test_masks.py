"""Pairs that masks let through, against the same masks written out in full."""

import math
from itertools import product

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from attncost.cost.counting.masks import causal_pairs, pairs_read

# More than are looked at in one piece.
LONG = 1100


def some(generator, high):
    return int(torch.randint(1, high + 1, (), generator=generator))


def random_sizes(generator):
    return tuple(some(generator, high) for high in (3, 4, 7, 7))


def random_mask(generator, sizes):
    """Return booleans that broadcast to the sizes in one of the ways there are."""
    axes = some(generator, 4)
    alone = torch.rand(4, generator=generator) < 0.4
    shape = [1 if one else size for size, one in zip(sizes, alone, strict=True)][4 - axes :]
    return torch.rand(shape, generator=generator) < 0.6


def hiding(mask, dtype=torch.float32, low=-math.inf):
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, low)


def test_booleans_and_numbers_of_any_shape_let_through_what_they_do_written_out(generator):
    for _ in range(300):
        sizes = random_sizes(generator)
        mask = random_mask(generator, sizes)
        written_out = mask.expand(sizes)
        pairs = int(written_out.sum())
        assert pairs_read(sizes, mask) == (pairs, None), mask.shape
        assert pairs_read(sizes, written_out) == (pairs, None)
        assert pairs_read(sizes, written_out.contiguous()) == (pairs, None)
        assert pairs_read(sizes, hiding(mask)) == (pairs, None)
        assert pairs_read(sizes, ~mask, blocks=True) == (pairs, None)
        causal = written_out.tril()
        assert pairs_read(sizes, mask, causal=True) == (int(causal.sum()), None)


def test_several_masks_let_through_what_all_of_them_do(generator):
    for case in range(200):
        b, h, n, m = sizes = random_sizes(generator)
        apart = torch.rand(b * h, n, m, generator=generator) < 0.6
        mask = apart if case % 2 else apart[0]
        keys = torch.rand(b, m, generator=generator) < 0.6
        both = (apart.view(sizes) if case % 2 else apart[0]) & keys[:, None, None]
        pairs = int(both.expand(sizes).sum())
        for one, other in product((~mask, hiding(mask)), (~keys, hiding(keys))):
            assert pairs_read(sizes, one, key_mask=other, blocks=True) == (pairs, None)
        alone = pairs_read(sizes, key_mask=hiding(keys), blocks=True)
        assert alone == (h * n * int(keys.sum()), None)


def test_more_axes_in_front_are_sequences(generator):
    mask = torch.rand(2, 1, 4, 3, 5, generator=generator) < 0.5
    written_out = mask.expand(2, 6, 4, 3, 5)
    assert pairs_read((12, 4, 3, 5), mask).pairs == int(written_out.sum())
    assert pairs_read((12, 4, 3, 5), written_out).pairs == int(written_out.sum())


def test_a_mask_that_is_read_in_pieces_is_read_whole(generator):
    mask = torch.rand(LONG, LONG, generator=generator) < 0.5
    sizes = (2, 3, LONG, LONG)
    assert pairs_read(sizes, mask).pairs == 6 * int(mask.sum())
    assert pairs_read(sizes, mask.T).pairs == 6 * int(mask.sum())
    assert pairs_read(sizes, hiding(mask), causal=True).pairs == 6 * int(mask.tril().sum())


def test_what_a_mask_repeats_is_never_made():
    long = 1 << 20
    mask = torch.ones(1, 1, 1, dtype=torch.bool).expand(64, long, long)
    assert pairs_read((8, 64, long, long), mask).pairs == 8 * 64 * long**2
    assert pairs_read((8, 64, long, long), causal=True).pairs == 512 * long * (long + 1) // 2


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("low", ["least", -math.inf, -1e4])
def test_numbers_so_low_that_no_weight_is_left_hide(dtype, low, generator):
    low = torch.finfo(dtype).min if low == "least" else low
    mask = torch.rand(3, 9, generator=generator) < 0.5
    mask[:, 0] = True
    added = hiding(mask, dtype, low)
    scores = torch.randn(3, 9, dtype=torch.float64, generator=generator) + added
    assert int((scores.softmax(-1) > 0).sum()) == int(mask.sum())
    assert pairs_read((2, 1, 3, 9), added).pairs == 2 * int(mask.sum())


def test_any_other_number_is_a_bias_and_hides_nothing():
    bias = torch.tensor([[0.0, -9000.0, 5.0, math.nan, math.inf]])
    assert pairs_read((1, 1, 1, 5), bias) == (5, None)


@pytest.mark.parametrize(("n", "m"), list(product(range(6), range(6))))
def test_a_causal_mask_aligns_the_first_query_with_the_first_key(n, m):
    written_out = torch.ones(n, m, dtype=torch.bool).tril()
    assert causal_pairs(n, m) == int(written_out.sum())
    assert pairs_read((2, 3, n, m), causal=True) == (6 * int(written_out.sum()), None)
    assert pairs_read((2, 3, n, m), written_out).pairs == 6 * int(written_out.sum())


def test_values_that_cannot_be_looked_at_leave_a_bound_and_a_reason():
    sizes, mask = (2, 3, 4, 5), torch.zeros(4, 5, dtype=torch.bool)
    with FakeTensorMode() as fake:
        made = torch.zeros(4, 5)
    seen = []

    def inside(mask):
        seen.append(pairs_read(sizes, mask))
        return mask.sum()

    torch.vmap(inside)(mask[None])
    torch.func.grad(inside)(mask.float())
    seen += [pairs_read(sizes, x) for x in (mask.to("meta"), made, fake.from_tensor(mask))]
    assert {read.pairs for read in seen} == {120}
    words = ["inside torch.func or vmap"] * 2 + ["on the meta device"] + ["of class FakeTensor"] * 2
    assert [read.unknown for read in seen] == [
        f"the values of a mask {w} are unknown" for w in words
    ]
    read = pairs_read(sizes, mask.to("meta"), causal=True)
    assert read.pairs == 6 * causal_pairs(4, 5)
    assert read.unknown is not None


def test_a_mask_that_is_known_counts_beside_one_that_is_not():
    keys = torch.tensor([[True, False, False]])
    read = pairs_read((1, 2, 4, 3), torch.zeros(4, 3, device="meta"), key_mask=keys, blocks=True)
    assert read.pairs == 2 * 4 * 2
    assert read.unknown == "the values of a mask on the meta device are unknown"


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.operations = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.operations.append(function)
        return function(*args, **(kwargs or {}))


def test_reading_is_not_met_by_whoever_counts_and_not_made_fake(generator):
    mask = torch.rand(4, 5, generator=generator) < 0.5
    keys, pairs = mask[:1], int(mask.tril().sum())
    with Log() as log:
        assert pairs_read((1, 1, 4, 5), mask, causal=True).pairs == pairs
    assert not log.operations
    with FakeTensorMode():
        assert pairs_read((1, 1, 4, 5), mask, key_mask=keys).unknown is None


def test_a_learned_bias_and_one_of_inference_are_read_as_well():
    bias = torch.tensor([[0.0, -math.inf]], requires_grad=True)
    assert pairs_read((1, 1, 3, 2), bias) == (3, None)
    with torch.inference_mode():
        assert pairs_read((1, 1, 3, 2), torch.tensor([[True, False]])) == (3, None)
