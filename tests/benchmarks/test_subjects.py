import pytest
import torch
from benchmarks.subjects import (
    definition,
    document_lengths,
    inputs,
    mask_of,
    patterns,
    segments,
    subjects,
)
from tests.oracle import definition as oracle

import attncost as ac


def test_every_pattern_that_has_defaults_takes_part():
    assert {"full", "causal", "window", "strided", "fixed"} <= patterns().keys()
    assert patterns()["window"] == ac.Window(width=256)
    assert subjects()[-2:] == ("documents", "layer")


@pytest.mark.parametrize("n", [2048, 8192])
def test_documents_fill_the_sequence_and_padding_them_wastes_what_a_novel_wastes(n):
    lengths = document_lengths(n)
    assert len(lengths) == 32
    assert sum(lengths) == n
    assert min(lengths) >= 1
    padded = 32 * max(lengths)
    assert 0.70 < 1 - n / padded < 0.78
    assert 7 < padded * max(lengths) / sum(x * x for x in lengths) < 11


def test_tokens_of_one_document_read_each_other_and_no_others():
    mask, lengths = mask_of("documents", 300), document_lengths(300)
    assert mask.sum() == sum(x * x for x in lengths)
    assert torch.equal(mask, torch.block_diag(*(torch.ones(x, x) for x in lengths)).bool())
    assert len(segments(300)) == 300


def test_the_truth_is_the_definition():
    q, k, v = inputs(48, torch.float32)
    for mask in (mask_of("window", 48), torch.arange(48) < torch.arange(48)[:, None]):
        expected, _ = oracle(q.double(), k.double(), v.double(), mask)
        torch.testing.assert_close(definition(q, k, v, mask), expected)
