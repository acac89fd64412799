"""What people reported of other pages of attention is right here, see the address of each."""

from dataclasses import replace

import pytest
import torch
from tests.browser import opened
from tests.view.maps.page.drawn_page import ready, until
from tests.view.maps.seen import call

import attncost as ac
from attncost.view.maps.maps import maps


def test_a_page_of_6_layers_of_12_heads_is_small_and_opens_each(browser, tmp_path, generator):
    # https://github.com/jessevig/bertviz/issues/82
    n, d = 512, 32  # the sizes of MiniLM
    names = [f"encoder.layer.{number}.attention" for number in range(6)]
    q, k = (torch.randn(6, 1, 12, n, d, generator=generator) for _ in range(2))
    one = call(generator, ac.Full(), n=1, heads=(12, 12))
    seen = {
        name: (replace(one, name=name, q=q[place], k=k[place]),) for place, name in enumerate(names)
    }
    file = tmp_path / "maps.html"
    maps(seen, prices={}).save(file)
    assert file.stat().st_size <= 20e6
    with opened(browser, file) as shown:
        page = shown.page
        ready(page)
        assert page.locator("#layer option").all_inner_texts() == [str(place) for place in range(6)]
        assert page.locator("#heads .thumb").count() == 6 * 12
        for layer in (5, 0, 3):
            page.locator("#layer").select_option(str(layer))
            until(page, f"attncost.view.layer === {layer}")
    assert (shown.requests, shown.errors) == ([], [])


def test_another_sequence_of_several_paragraphs_is_shown_to_its_last_token(
    browser, tmp_path, generator
):
    # https://github.com/jessevig/bertviz/issues/74
    n, m = 300, 2000
    seen = call(generator, n=n, m=m, heads=(1, 1), cross=True, name="decoder.cross")
    tokens = [[f"{side}{place}" for place in range(many)] for side, many in (("s", m), ("t", n))]
    file = tmp_path / "maps.html"
    maps({seen.name: (seen,)}, tokens=tuple(tokens), prices={}).save(file)
    with opened(browser, file) as shown:
        page = shown.page
        ready(page)
        page.evaluate("attncost.go({ query: 299, key: 1999, zoom: 0 })")
        until(page, "attncost.view.key === 1999")
        weight = float(page.locator("#weight").inner_text())
        texts = page.locator("#readout").inner_text()
        view = page.evaluate("attncost.view")
    assert weight == pytest.approx(float(seen.weights(-1)[0, 0, 0, -1]), rel=1e-2)
    assert "s1999" in texts
    assert "t299" in texts
    assert view["query"] == 299
    assert (shown.requests, shown.errors) == ([], [])
