"""Our mask function hands on the mask that transformers writes out, without n x m numbers."""

import pytest
import torch
from tests.integrations.hf.zoo import WIDTH, ZOO
from torch.nn.attention.flex_attention import BlockMask
from transformers import DynamicCache, MistralConfig, StaticCache
from transformers import masking_utils as theirs

from attncost import Causal, Full, UnsupportedOption, Window, hf
from attncost.integrations.hf.masks import mask
from attncost.integrations.hf.reads import Reads

BATCH, N = 2, 12
DOCUMENTS = torch.tensor([[0] * 5 + [1] * 7, [0] * 9 + [1] * 3])
UNDERSTOOD = {
    "causal": theirs.causal_mask_function,
    "bidirectional": theirs.bidirectional_mask_function,
    "sliding": theirs.sliding_window_causal_mask_function(4),
    "around": theirs.sliding_window_bidirectional_mask_function(3),
}
WRITTEN_OUT = {
    "chunked": theirs.chunked_causal_mask_function(4, torch.tensor([3, 0])),
    "prefix": theirs.or_masks(theirs.causal_mask_function, lambda b, h, q, k: k < 3),
}
RULES = UNDERSTOOD | WRITTEN_OUT


def padding(length, hidden):
    """Return a mask of padding in the first sequence."""
    made = torch.ones(BATCH, length, dtype=torch.bool)
    made[0, hidden] = False
    return made


PADDINGS = {
    "none": lambda m: None,
    "nothing hidden": lambda m: padding(m, []),
    "left": lambda m: padding(m, slice(3)),
    "right": lambda m: padding(m, slice(m - 3, None)),
    "holes": lambda m: padding(m, [1, 4, 5, m - 1]),
    "everything": lambda m: padding(m, slice(None)),
    "shorter": lambda m: padding(m - 2, slice(1)),
    "longer": lambda m: padding(m + 5, slice(2)),
}


def written_by_transformers(*sizes, **asked):
    asked |= {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    return theirs.sdpa_mask(*sizes, **asked)


def assert_same(reads, expected):
    """Compare with a mask whose last keys ours may have left out, as nobody reads them."""
    assert reads.held == expected.shape[3]
    filled = reads.sizes[2]
    assert reads.shape == (*expected.shape[:3], filled)
    assert torch.equal(reads.mask(), expected[..., :filled])
    assert not expected[..., filled:].any()


@pytest.mark.parametrize("name", PADDINGS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("offsets", [(0, 0), (4, 0), (9, 4), (0, 2)], ids=str)
@pytest.mark.parametrize("keys", [N, 17])
def test_a_mask_is_that_of_transformers(rule, name, offsets, keys):
    asked = {"mask_function": RULES[rule], "attention_mask": PADDINGS[name](keys + offsets[1])}
    sizes = (BATCH, N, keys, *offsets)
    reads = mask(*sizes, **asked)
    assert_same(reads, written_by_transformers(*sizes, **asked))
    assert (reads.dense is not None) == (rule in WRITTEN_OUT)


CACHES = {
    "dynamic": lambda config: DynamicCache(),
    "sliding": lambda config: DynamicCache(config=config),
    "static": lambda config: StaticCache(config, max_cache_len=24),
    "sliding static": lambda config: StaticCache(config, max_cache_len=24),
}


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("hidden", [None, slice(3), [1, 4]], ids=["none", "left", "holes"])
def test_masks_of_a_cache_stay_right_when_it_has_grown(cache, hidden):
    config = MistralConfig(
        num_hidden_layers=1, sliding_window=WIDTH if "sliding" in cache else None
    )
    held = CACHES[cache](config)
    function = theirs.causal_mask_function
    if "sliding" in cache:
        function = theirs.sliding_window_causal_mask_function(WIDTH)
    made, seen = [], 0
    for new in (5, 1, 1, 4, 1, 3, 1, 1):
        asked = {"mask_function": function}
        if hidden is not None:
            asked["attention_mask"] = padding(seen + new, hidden)
        keys, first = held.get_mask_sizes(new, 0)
        sizes = BATCH, new, keys, held.get_query_offset(0), first
        made.append((mask(*sizes, **asked), written_by_transformers(*sizes, **asked)))
        held.update(torch.zeros(BATCH, 1, new, 8), torch.zeros(BATCH, 1, new, 8), 0)
        seen += new
    for reads, expected in made:  # a static cache has counted on since, in place
        assert_same(reads, expected)
        assert reads.dense is None
        assert reads.aligned


def test_the_unfilled_end_of_a_static_cache_is_left_out():
    reads = mask(BATCH, 3, 100, 7, mask_function=theirs.causal_mask_function)
    assert (reads.sizes, reads.held) == ((BATCH, 3, 10), 100)
    reads = mask(BATCH, 3, 100, 7, mask_function=theirs.bidirectional_mask_function)
    assert (reads.sizes, reads.held) == ((BATCH, 3, 100), 100)


@pytest.mark.parametrize("rule", [*UNDERSTOOD, "packed"])
def test_nothing_is_held_for_each_pair(rule):
    n = 1 << 20  # pairs of these would fill the memory of any machine
    documents = (torch.arange(n) // 1000).repeat(BATCH, 1)
    functions = UNDERSTOOD | {
        "packed": theirs.and_masks(
            theirs.causal_mask_function, theirs.packed_sequence_mask_function(documents)
        )
    }
    reads = mask(
        BATCH, n, n, mask_function=functions[rule], attention_mask=padding(n, slice(n // 3))
    )
    held = [value for value in vars(reads).values() if isinstance(value, torch.Tensor)]
    assert sum(tensor.numel() for tensor in held) <= 2 * BATCH * n
    assert reads.shape == (BATCH, 1, n, n)


@pytest.mark.parametrize("sizes", [(12, 12, 0, 0), (3, 12, 9, 0), (12, 9, 0, 0), (8, 8, 4, 4)])
def test_documents_are_told_for_the_tokens_of_the_call_or_written_out(sizes):
    function = theirs.and_masks(
        theirs.causal_mask_function, theirs.packed_sequence_mask_function(DOCUMENTS)
    )
    reads = mask(BATCH, *sizes, mask_function=function)
    assert_same(reads, written_by_transformers(BATCH, *sizes, mask_function=function))
    assert (reads.segments is not None) == (sizes == (12, 12, 0, 0))


def test_packed_positions_of_a_model_are_documents():
    positions = torch.tensor([[*range(5), *range(7)]])
    config = ZOO["mistral"]().config
    config._attn_implementation = hf.register("exact")
    embeddings = torch.zeros(1, N, 64)
    asked = {"attention_mask": None, "cache": None, "position_ids": positions}
    reads = theirs.create_sliding_window_causal_mask(config, embeddings, **asked)
    assert (reads.rule, reads.dense) == (Window(WIDTH), None)
    config._attn_implementation = "sdpa"
    expected = theirs.create_sliding_window_causal_mask(config, embeddings, **asked)
    assert_same(reads, expected)


def test_models_hand_a_mask_on_as_it_is():
    reads = mask(BATCH, N, N, mask_function=theirs.causal_mask_function)
    assert isinstance(reads, BlockMask)
    assert reads.ndim == len(reads.shape) == 4
    config, embeddings = ZOO["llama"]().config, torch.zeros(BATCH, N, 64)
    for make in (theirs.create_causal_mask, theirs.create_bidirectional_mask):
        assert make(config, embeddings, attention_mask=reads, cache=None) is reads


def test_a_mask_cannot_be_cut():
    reads = mask(BATCH, N, N, mask_function=theirs.causal_mask_function)
    with pytest.raises(UnsupportedOption, match="cuts or changes its attention mask itself"):
        reads[:, :, :3]


@pytest.mark.parametrize("shape", [(N,), (BATCH, N, N), (BATCH, 1, N, N)])
def test_padding_in_another_form_is_refused(shape):
    padded = torch.ones(shape, dtype=torch.bool)
    with pytest.raises(UnsupportedOption, match=r"must have the axes \(batch, positions\)"):
        mask(BATCH, N, N, mask_function=theirs.causal_mask_function, attention_mask=padded)


def test_a_mask_says_what_it_holds():
    held = {"key_mask": PADDINGS["left"](N), "segments": DOCUMENTS}
    assert str(Reads((BATCH, N, N), Full())) == "Reads(2 x 12 x 12, Full())"
    assert (
        repr(Reads((BATCH, 3, N), Causal(), **held))
        == "Reads(2 x 3 x 12, Causal() and key_mask and segments)"
    )


def test_a_mask_moves_with_all_that_it_holds():
    dense = torch.ones(BATCH, 1, 3, N, dtype=torch.bool)
    held = {"key_mask": PADDINGS["left"](N), "dense": dense}
    reads = Reads((BATCH, 3, N), Window(4), first=(9, 0), held=20, **held)
    moved = reads.to("meta")
    assert moved.key_mask.is_meta
    assert moved.dense.is_meta
    assert moved.segments is None
    assert (moved.device, reads.device) == (torch.device("meta"), torch.device("cpu"))
    same = ("sizes", "rule", "first", "held", "shape", "aligned")
    assert [getattr(moved, name) for name in same] == [getattr(reads, name) for name in same]
    assert Reads((1, 3, 3), Full()).device is None
    assert torch.equal(Reads((1, 3, 3), Full()).mask(), torch.ones(1, 1, 3, 3, dtype=torch.bool))
