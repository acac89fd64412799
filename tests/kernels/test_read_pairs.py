"""What a call reads, counted exactly: brute force over dense masks is the oracle."""

import pytest
import torch
from tests.every import PATTERNS
from tests.kernels.corners import ONE_EACH
from tests.oracle import read
from torch._subclasses import FakeTensorMode

from attncost import Block, Causal, Custom, Dims, Full, Window
from attncost.core.options import Options
from attncost.core.unseen import unseen
from attncost.kernels.interface import Call
from attncost.kernels.read_pairs import Read, read_pairs

HEADS, BATCH = 2, 3
LONG = 100_000  # a dense mask would take 10 GB
UNEQUAL = [(pattern, *size) for pattern in ONE_EACH for size in ((30, 70), (70, 30))]


def call(pattern, n, m, **options):
    dims = Dims(batch=BATCH, heads=HEADS, length=n, kv_length=m, head_dim=4)
    return Call(pattern, dims, Options(**options))


def wishes(generator, n, m):
    """Return masks of every kind, alone and together; of biases some -inf, some everything."""

    def hidden(*shape, share=0.3):
        drawn = torch.rand(shape, generator=generator) < share
        return torch.zeros(shape).masked_fill(drawn, -torch.inf)

    mask = torch.rand(BATCH, m, generator=generator) > 0.3
    mask[0] = False
    tokens = torch.randint(4, (BATCH, max(n, m)), generator=generator)
    documents = tokens.sort(1)[0]
    return [
        {},
        {"key_mask": mask},
        {"segments": documents},
        {"segments": tokens},
        {"key_mask": mask, "segments": documents},
        {"key_mask": mask, "segments": tokens},
        {"bias": hidden(1, HEADS, 1, 1, share=0.5), "segments": documents},
        {"bias": hidden(BATCH, 1, 1, m)},
        {"bias": hidden(1, HEADS, 1, m), "segments": tokens, "key_mask": mask},
        {"bias": hidden(1, 1, n, 1)},
        {"bias": hidden(BATCH, HEADS, n, m), "key_mask": mask, "segments": documents},
        {"bias": hidden(1, HEADS, n, m, share=0)},
    ]


def brute_force(pattern, n, m, *, bias=None, **masks):
    reads = read(pattern.mask(n, m), **masks)
    if bias is not None:
        reads = reads & ~bias.isneginf()
    return int(reads.expand(BATCH, HEADS, n, m).sum())


@pytest.mark.parametrize(
    ("pattern", "n", "m"), [(pattern, 129, 129) for pattern in PATTERNS] + UNEQUAL, ids=str
)
def test_pairs_are_those_of_the_dense_masks(pattern, n, m, generator):
    for options in wishes(generator, n, m):
        expected = brute_force(pattern, n, m, **options)
        assert read_pairs(call(pattern, n, m, **options)) == Read(expected), list(options)


@pytest.mark.parametrize(("n", "m"), [(0, 5), (5, 0)])
def test_where_nothing_can_be_read_nothing_is(n, m):
    mask = torch.ones(BATCH, m, dtype=torch.bool)
    assert read_pairs(call(Custom(lambda i, j: i >= j), n, m, key_mask=mask)) == Read(0)


def test_a_document_of_a_packed_sequence_reads_what_it_would_alone():
    sizes = [1, 60, 300, 7]
    segments = torch.repeat_interleave(torch.arange(4), torch.tensor(sizes)).expand(BATCH, -1)
    found = read_pairs(call(Causal(), 368, 368, segments=segments))
    assert found.pairs == BATCH * HEADS * sum(n * (n + 1) // 2 for n in sizes)


@pytest.mark.parametrize(
    ("pattern", "queries"),
    [
        (Window(300), lambda key: 300),
        (Block(50), lambda key: 50),
        (Causal(), lambda key: LONG - key),
    ],
    ids=["window", "block", "causal"],
)
def test_a_key_counts_for_every_query_that_reads_it(pattern, queries):
    mask = torch.zeros(1, LONG, dtype=torch.bool)
    mask[:, 1000:70_000:3] = True
    found = read_pairs(Call(pattern, Dims(length=LONG, head_dim=4), Options(key_mask=mask)))
    assert found.pairs == sum(map(queries, range(1000, 70_000, 3)))


def test_what_cannot_be_looked_at_is_named_and_the_rest_is_counted():
    mask = torch.tensor([[True, False, True]] * BATCH)
    with FakeTensorMode():
        segments = torch.zeros(BATCH, 3, dtype=torch.long)
        found = read_pairs(call(Full(), 3, 3, key_mask=mask, segments=segments))
    assert found == Read(BATCH * HEADS * 6, ("segments",))
    assert found.unknown == "what segments may hide is not known."
    bias = torch.zeros(1, 1, 3, 3, device="meta")
    both = read_pairs(call(Causal(), 3, 3, key_mask=mask.to("meta"), bias=bias))
    assert both == Read(BATCH * HEADS * 6, ("key_mask", "bias"))
    assert both.unknown == "what key_mask and bias may hide is not known."


def test_numbers_under_a_transform_cannot_be_looked_at():
    seen = []
    torch.vmap(lambda x: (seen.append(unseen(x)), x)[1])(torch.ones(2))
    assert seen == ["inside torch.func or vmap"]
    assert unseen(torch.ones(2)) is None


def test_modes_around_change_nothing():
    pattern = Custom(lambda i, j: (i + j) % 3 == 0)
    mask = torch.tensor([[True, False, True, True]] * BATCH)
    expected = brute_force(pattern, 4, 4, key_mask=mask)
    with torch.device("meta"), FakeTensorMode(), torch.inference_mode():
        assert read_pairs(call(pattern, 4, 4, key_mask=mask)) == Read(expected)
