"""Where documents lie, and when that cannot be told."""

import pytest
import torch
from torch._subclasses import FakeTensorMode

from attncost.kernels.documents import documents, scattered, unknown, unmasked


@pytest.mark.parametrize(("n", "m"), [(9, 9), (9, 4), (4, 9), (1, 9)])
def test_documents_hold_every_token_once_and_end_together(n, m):
    segments = torch.tensor([[5, 5, 5, 1, 2, 2, 2, 2, 2], [0] * 9, list(range(9))])
    for sequence, inside in enumerate(documents(segments, n, m)):
        assert [i for one in inside for i in one.queries] == list(range(n))
        assert [i for one in inside for i in one.keys] == list(range(m))
        for one in inside:
            assert one.sequence == sequence
            tokens = {i + 9 - n for i in one.queries} | {i + 9 - m for i in one.keys}
            assert len(set(segments[sequence, sorted(tokens)].tolist())) <= 1
            if one.queries and one.keys:
                assert one.queries[-1] + 9 - n == one.keys[-1] + 9 - m


def test_no_tokens_are_no_documents():
    assert documents(torch.zeros(2, 0, dtype=torch.long), 0, 0) == [[], []]
    assert documents(torch.zeros(0, 3, dtype=torch.long), 3, 3) == []


def test_numbers_may_differ_between_sequences_but_not_recur_in_one():
    assert scattered(torch.tensor([[3, 3, 1], [1, 1, 3]])) is None
    assert "segment 3 of sequence 1" in (scattered(torch.tensor([[3, 3, 3], [3, 1, 3]])) or "")


def test_keys_between_padding_are_one_run():
    rows = [[0, 0, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0], [1, 0, 1, 1, 0, 1]]
    assert unmasked(torch.tensor(rows) > 0) == [range(2, 5), range(6), range(0), range(2, 4)]


def test_what_is_only_simulated_cannot_be_read():
    with FakeTensorMode():
        fake = torch.zeros(1, 4, dtype=torch.long)
    for segments in (fake, torch.zeros(1, 4, dtype=torch.long, device="meta")):
        assert "not known yet" in (unknown(segments) or "")
