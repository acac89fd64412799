import numpy as np
import pytest
import torch
from tests.every import every_pattern

import attncost as ac
from attncost.view.maps.arrays.spans import reads

SEGMENTS = {
    "documents": lambda t: torch.arange(t) // 9,
    "documents of any number": lambda t: -7 * (torch.arange(t) // 20),
    "documents in several places": lambda t: torch.arange(t) // 5 % 3,
}


def _check(pattern, n, m, segments=None):
    found, mask = reads(pattern, n, m, segments=segments, open_=None), pattern.mask(n, m)
    if segments is not None:
        mask = mask & (segments[-n:, None] == segments[-m:])
    assert torch.equal(found.mask(slice(0, n)), mask)
    assert torch.equal(found.mask(slice(n // 3, n // 2)), mask[n // 3 : n // 2])
    assert found.everything == bool(mask.all())
    assert found.causal == (not mask.triu(m - n + 1).any())
    # A run is never empty, and none but the first of a row touches the one before.
    skipped, read = found.gaps().reshape(-1, 2).T
    first = np.isin(np.arange(len(read)), found.counts.cumsum() - found.counts)
    assert (read > 0).all()
    assert (skipped[~first] > 0).all()


@every_pattern
def test_runs_are_those_of_the_dense_mask(pattern):
    for n, m in ((40, 40), (13, 40), (40, 13), (1, 7)):
        _check(pattern, n, m)


@pytest.mark.parametrize("kind", SEGMENTS)
@pytest.mark.parametrize("pattern", [ac.Causal(), ac.Window(5), ac.BigBird(block=4)], ids=str)
def test_documents_cut_runs(pattern, kind):
    for n, m in ((40, 40), (13, 40), (40, 13)):
        _check(pattern, n, m, SEGMENTS[kind](max(n, m)))


def test_runs_of_distances_need_no_pairs():
    found = reads(ac.Causal(), 100_000, 100_000, segments=None, open_=None)
    assert found.counts.sum() == 100_000
    assert (found.ends == np.arange(1, 100_001)).all()
