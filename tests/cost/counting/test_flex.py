"""Flex attention: brute force over PyTorch's own dense mask is the oracle."""

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, create_mask
from torch.nn.attention.flex_attention import flex_attention as attend
from torch.overrides import TorchFunctionMode

from attncost.cost.counting import block_masks
from attncost.cost.counting.apis.flex import FlexAttention

# It says so whenever it is not compiled.
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without:UserWarning")

BATCH, HEADS = 2, 4
SLOPES = torch.linspace(0.1, 0.5, HEADS)
TOKENS = torch.arange(400)
DOCUMENTS = torch.stack([TOKENS // 90, TOKENS // 150])
LENGTHS = torch.tensor([70, 290])


def causal(b, h, q, k):
    return q >= k


def window(b, h, q, k):
    return (q >= k) & (q - k < 50)


def documents(b, h, q, k):
    return (DOCUMENTS[b, q] == DOCUMENTS[b, k]) & (q >= k)


def padding(b, h, q, k):
    return k < LENGTHS[b]


def by_head(b, h, q, k):
    return q - k <= 40 * h


def nothing(b, h, q, k):
    return q < 0


MODS = [causal, window, documents, padding, by_head, nothing]


class Calls(TorchFunctionMode):
    """Remembers what the operation gets, and runs it if asked to."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in FlexAttention().functions():
            self.found += FlexAttention().read(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def counted(q, k, v, **options):
    with torch.compiler.set_stance("force_eager"), Calls() as calls:
        attend(q, k, v, **options)
    (call,) = calls.found
    return call


def qkv(n, m, *, heads=(HEADS, HEADS), features=(8, 8), batch=(BATCH, BATCH)):
    q = torch.zeros(batch[0], heads[0], n, features[0])
    k = torch.zeros(batch[1], heads[1], m, features[0])
    return q, k, torch.zeros(batch[1], heads[1], m, features[1])


def block_mask(mod, b, h, n, m, size=128):
    return create_block_mask(mod, b, h, n, m, device="cpu", BLOCK_SIZE=size)


def brute_force(mod, n, m):
    return int(create_mask(mod, BATCH, HEADS, n, m, device="cpu").sum())


def listed(mask, b=BATCH, h=HEADS):
    """Return the blocks of a mask, for all sequences and heads."""
    return int(mask.to_dense().expand(b, h, -1, -1).sum())


@pytest.mark.parametrize("mod", MODS)
@pytest.mark.parametrize(("n", "m"), [(256, 256), (300, 300), (200, 390), (1, 129)])
def test_pairs_are_those_of_the_dense_mask(mod, n, m):
    mask = block_mask(mod, BATCH, HEADS, n, m)
    call = counted(*qkv(n, m), block_mask=mask)
    assert call.useful == brute_force(mod, n, m) <= call.executed
    assert call.dense == BATCH * HEADS * n * m
    assert call.unknown is None
    if not n % 128 and not m % 128:
        assert call.executed == listed(mask) * 128**2


@pytest.mark.parametrize("axes", [(None, None), (BATCH, None), (None, HEADS)])
def test_a_mask_may_serve_all_sequences_or_heads(axes):
    call = counted(*qkv(300, 300), block_mask=block_mask(window, *axes, 300, 300))
    assert call.useful == brute_force(window, 300, 300)


@pytest.mark.parametrize("mod", [documents, by_head])
def test_a_function_is_asked_for_every_sequence_and_head_though_blocks_serve_all(mod):
    blocks = block_mask(lambda b, h, q, k: q >= -1, None, None, 256, 256)
    # None is full, so that the function decides all of them, as a careful user may have it.
    mask = BlockMask.from_kv_blocks(
        blocks.full_kv_num_blocks, blocks.full_kv_indices, mask_mod=mod, seq_lengths=(256, 256)
    )
    call = counted(*qkv(256, 256), block_mask=mask)
    assert call.useful == brute_force(mod, 256, 256)
    assert call.executed == call.dense


@pytest.mark.parametrize("size", [16, (64, 32), 1024])
def test_blocks_may_have_any_size(size):
    mask = block_mask(documents, BATCH, None, 300, 300, size)
    call = counted(*qkv(300, 300), block_mask=mask)
    assert call.useful == brute_force(documents, 300, 300)
    assert call.executed <= call.dense


def test_without_a_mask_everything_is_read():
    call = counted(*qkv(700, 600))
    assert call.useful == call.executed == call.dense == BATCH * HEADS * 700 * 600
    assert call.unknown is None


def softcapped(score, b, h, q, k):
    return 20 * torch.tanh(score / 20) - SLOPES[h] * (q - k)


def hiding(score, b, h, q, k):
    return torch.where(q + h >= k, score, -torch.inf)


def test_a_score_that_is_only_changed_is_read():
    mask = block_mask(window, None, None, 300, 300)
    call = counted(*qkv(300, 300), block_mask=mask, score_mod=softcapped)
    assert call.useful == brute_force(window, 300, 300)
    assert counted(*qkv(600, 600), score_mod=softcapped).useful == BATCH * HEADS * 600**2


def test_a_score_of_minus_infinity_is_not_read():
    expected = brute_force(lambda b, h, q, k: q + h >= k, 600, 600)
    assert counted(*qkv(600, 600), score_mod=hiding).useful == expected
    both = brute_force(lambda b, h, q, k: (q + h >= k) & by_head(b, h, q, k), 300, 300)
    mask = block_mask(by_head, None, HEADS, 300, 300)
    assert counted(*qkv(300, 300), block_mask=mask, score_mod=hiding).useful == both


def test_shared_heads_other_features_of_values_and_keys_of_one_sequence():
    inputs = qkv(256, 256, heads=(4, 2), features=(8, 5), batch=(BATCH, 1))
    call = counted(*inputs, block_mask=block_mask(causal, BATCH, None, 256, 256), enable_gqa=True)
    pairs = BATCH * 4 * (256 * 257 // 2)
    assert call.useful == pairs
    assert call.forward().useful == 2 * pairs * (8 + 5)
    q, k, v = (x.numel() for x in inputs)
    assert call.bytes == 4 * (q + k + v + BATCH * 4 * 256 * 5)


def test_a_published_case_of_a_window():
    """pytorch/pytorch, issue 134385: torch's counter raises."""
    inputs = qkv(1024, 1024, heads=(8, 8), features=(64, 64), batch=(1, 1))
    mask = block_mask(lambda b, h, q, k: (q >= k) & (q - k < 128), None, None, 1024, 1024)
    cost = counted(*inputs, block_mask=mask).forward()
    assert cost.useful == 251_789_312
    assert cost.executed == 15 * 128**2 * 8 * 4 * 64
    assert cost.dense == 2_147_483_648


def test_tensors_of_a_graph_come_apart_from_their_functions():
    mask = block_mask(documents, BATCH, None, 300, 300)
    *blocks, _ = mask.as_tuple()

    def mod(b, h, q, k, numbers):
        return (numbers[b, q] == numbers[b, k]) & (q >= k)

    def changed(score, b, h, q, k, slopes):
        return score - slopes[h]

    args = (*qkv(300, 300), changed, (*blocks, mod), 1.0, {}, (SLOPES,), (DOCUMENTS,))
    (call,) = FlexAttention().read(*args)
    assert call.useful == brute_force(documents, 300, 300)


def test_what_cannot_be_looked_at_makes_pairs_an_upper_bound():
    mask = block_mask(documents, BATCH, None, 300, 300)
    *blocks, _ = mask.as_tuple()
    with FakeTensorMode():
        unseen = torch.zeros(BATCH, 300)
    args = (*qkv(300, 300), lambda score, *_: score)
    for numbers in (unseen, torch.zeros(BATCH, 300, device="meta")):
        mod = lambda b, h, q, k, numbers=numbers: numbers[b, q] == numbers[b, k]  # noqa: E731
        (call,) = FlexAttention().read(*args, (*blocks, mod), 1.0, {})
        assert call.unknown == "what a function of flex attention hides is not known."
        assert call.useful == call.executed < call.dense
    (call,) = FlexAttention().read(*args, mask.to("meta").as_tuple(), 1.0, {})
    assert call.unknown == "the blocks of a mask of flex attention are not known."
    assert call.useful == call.executed == call.dense


def test_too_many_pairs_are_not_looked_at_one_by_one(monkeypatch):
    monkeypatch.setattr(block_masks, "_MOST", 300**2 * BATCH)
    mask = block_mask(documents, BATCH, None, 300, 300)
    call = counted(*qkv(300, 300), block_mask=mask, score_mod=hiding)
    # The mask does not tell heads apart, so it alone is not too much.
    assert call.useful == brute_force(documents, 300, 300)
    assert call.unknown is not None
    assert "too many pairs" in call.unknown
    monkeypatch.setattr(block_masks, "_MOST", 0)
    assert counted(*qkv(300, 300), block_mask=mask).useful == call.executed
