import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import attncost as ac
from attncost.core.errors import ShapeError
from attncost.view.maps.arrays.blocks import Blocks
from attncost.view.maps.header.calls import calls
from attncost.view.maps.header.entries import started
from attncost.view.maps.header.sequences import Legend, Sequences
from attncost.view.maps.heatmap import heatmap
from attncost.view.maps.maps import maps
from attncost.view.seen import Seen


def _noise(layers, heads, n, d=64, *, apart=0.0):
    """Return layers that see noise, the same or, so that nothing is written once, not the same."""
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(1, heads, n, d, generator=generator) for _ in range(2))
    return {
        f"layers.{i}": (
            Seen(
                name=f"layers.{i}",
                q=q + i * apart if apart else q,
                k=k + i * apart if apart else k,
                v=None,
                pattern=ac.Window(64),
                heads=tuple(range(heads)),
                wishes={},
            ),
        )
        for i in range(layers)
    }


def test_one_head_of_8192_tokens_takes_at_most_4_mb():
    page = maps(_noise(1, 1, 8192), prices={}).html()
    assert 2 * 10**6 < len(page) <= 4 * 10**6


def test_a_page_over_50_mb_is_refused_with_what_would_fit_before_anything_is_measured():
    captured = _noise(8, 8, 8192)
    # Its statistics would be refused for another reason.
    (last,) = captured["layers.7"]
    captured["layers.7"] = (replace(last, k=last.k * torch.nan),)
    # 8 layers of 8 heads hold 2 * 8192 * 64 numbers of 2 bytes each, 4/3 of them as base64.
    with pytest.raises(ShapeError) as caught:
        maps(captured, prices={})
    message = str(caught.value)
    assert "\n" not in message
    size = int(re.search(r"would take about (\d+) MB and may take 50", message)[1])
    assert 0.85 < size / (8 * 8 * 2 * 8192 * 64 * 2 * 4 / 3 / 10**6) < 1.1
    assert re.search(r"9\d\.\d % of it queries and keys", message)
    for what, count in (("layers", 8), ("heads", 64), ("tokens", 8192)):
        fits = re.search(rf"fewer {what} \(about ([\d,]+) of {count:,} fit\)", message)[1]
        assert int(fits.replace(",", "")) == pytest.approx(50 / size * count, abs=1 + count / 100)


def test_as_many_layers_as_the_refusal_says_do_fit():
    calls_ = calls(_noise(6, 1, 512, apart=0.1))
    with pytest.raises(ShapeError) as caught:
        started(calls_, Sequences(Legend(), Blocks(500_000)))
    fits = int(re.search(r"about (\d) of 6 fit", str(caught.value))[1])
    blocks = Blocks(500_000)
    started(calls_[:fits], Sequences(Legend(), blocks))
    # Statistics take their share too.
    assert 0.6 < blocks.bytes / blocks.most < 1


def test_a_matrix_over_50_mb_is_refused():
    with pytest.raises(ShapeError, match=r"4,096 x 4,096 weights take about 89 MB and may take 50"):
        heatmap(np.zeros((4096, 4096), np.float32))
