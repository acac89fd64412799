"""What people reported of other maps of attention is right here, see the address of each."""

import socket
import sys

import pytest
import torch
from tests.view.maps.seen import call

import attncost as ac
from attncost.view.maps.maps import maps


def _no_network(*_, **__):
    raise AssertionError("the network was asked")


def test_a_page_is_made_without_network_display_and_notebook(monkeypatch, generator):
    # https://github.com/jessevig/bertviz/issues/41
    # https://github.com/TransformerLensOrg/CircuitsVis/issues/49
    monkeypatch.setattr(socket, "socket", _no_network)
    monkeypatch.setattr(socket, "getaddrinfo", _no_network)
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    page = maps({"layer": (call(generator, n=128),)}, prices={})
    assert "attncost-maps" in page.html()
    assert page._repr_html_().startswith("<iframe")


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_no_measure_of_a_head(side, generator):
    # https://github.com/TransformerLensOrg/TransformerLens/issues/240
    text = call(generator, ac.Causal(), n=20)
    place = torch.arange(32)
    real = (place >= 12 if side == "left" else place < 20)[None]
    padded = call(generator, ac.Causal(), n=32, key_mask=real, batch=1)
    for own, longer in ((text.q, padded.q), (text.k, padded.k)):
        longer[:, :, real[0]] = own
    heads = [
        maps({"layer": (seen,)}, prices={}).header["layers"][0]["heads"] for seen in (text, padded)
    ]
    for alone, beside in zip(*heads, strict=True):
        # The pooled map, and so its rank, has blocks of other edges.
        for name in alone["measures"].keys() - {"effective_rank"}:
            number = alone["measures"][name]
            assert beside["measures"][name] == pytest.approx(number, rel=1e-5, abs=1e-6), name
