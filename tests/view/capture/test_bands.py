"""A dense mask told in a few words means the same pairs, and what is no band is not told."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attncost import Causal, Full, Window
from attncost.view.capture.hosts import bands
from attncost.view.capture.hosts.bands import band
from attncost.view.capture.hosts.once import Once

PATTERNS = (Full(), Causal(), Window(1), Window(3), Window(6, ahead=2), Window(5, ahead=4))


def written_out(pattern, read, segments, n):
    m = read.shape[1]
    mask = pattern.mask(n, m) & read[:, None]
    return mask if segments is None else mask & (segments[:, :, None] == segments[:, None])


@settings(deadline=None, max_examples=60)
@given(
    pattern=st.sampled_from(PATTERNS),
    n=st.integers(1, 12),
    earlier=st.integers(-2, 5),
    batch=st.integers(1, 3),
    padding=st.integers(0, 12),
    left=st.booleans(),
    packed=st.booleans(),
    at_once=st.sampled_from([1, 30, 1 << 20]),
)
def test_bands_with_padding_and_documents_are_told(
    pattern, n, earlier, batch, padding, left, packed, at_once
):
    m = max(1, n + earlier)
    read = torch.ones(batch, m, dtype=torch.bool)
    hidden = min(padding, m - 1)
    read[0, slice(hidden) if left else slice(m - hidden, None)] = False
    packed = packed and n == m and not hidden
    segments = (torch.arange(n) // 4).expand(batch, -1) if packed else None
    mask = written_out(pattern, read, segments, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bands, "_PAIRS_AT_ONCE", at_once)
        found = band(mask)
    assert found is not None
    assert torch.equal(written_out(found.pattern, found.key_mask, found.segments, n), mask)


def test_the_plainest_pattern_is_told():
    read = torch.ones(1, 9, dtype=torch.bool)
    told = [band(written_out(pattern, read, None, 9)).pattern for pattern in PATTERNS]
    assert told == list(PATTERNS)
    assert band(torch.ones(1, 1, 9, dtype=torch.bool)).pattern == Full()


@pytest.mark.parametrize("kind", ["random", "blocks", "holes"])
def test_what_is_no_band_is_not_told(kind, generator):
    mask = {
        "random": torch.rand(1, 9, 9, generator=generator) > 0.5,
        "blocks": (torch.arange(9)[:, None] // 3 >= torch.arange(9) // 3)[None],
        "holes": Causal().mask(9, 9)[None] & ~torch.eye(9, dtype=torch.bool).roll(-3, 1),
    }[kind]
    assert band(mask) is None


def test_documents_of_tokens_that_only_read_ahead_are_told():
    segments = torch.tensor([[0, 0, 0, 1, 1]])
    mask = written_out(Window(5, ahead=4), torch.ones(1, 5, dtype=torch.bool), segments, 5)
    found = band(mask)
    assert found.segments.tolist() == segments.tolist()
    assert torch.equal(written_out(found.pattern, found.key_mask, found.segments, 5), mask)


def test_a_mask_that_hides_everything_is_told():
    found = band(torch.zeros(2, 4, 6, dtype=torch.bool))
    assert not found.key_mask.any()


def test_a_value_is_made_once_for_a_tensor_and_its_slices_and_anew_after_a_change():
    made = []
    once = Once(lambda tensor: made.append(tensor.shape))
    whole, other = torch.zeros(4, 4), torch.zeros(4, 4)
    for tensor in (whole, whole, whole[:2], whole[:2], other):
        once(tensor)
    assert len(made) == 3
    whole.add_(1)
    once(whole[:2])
    assert len(made) == 4
    with torch.inference_mode():
        fixed = torch.zeros(3)
        once(fixed), once(fixed)
    assert len(made) == 5


def test_what_is_made_of_a_tensor_does_not_outlive_it():
    once = Once(lambda tensor: tensor + 1)
    once(torch.zeros(2))
    once(torch.zeros(3))
    assert len(once._made) == 1
