"""A map of the engine on a page, with all that it tells."""

from contextlib import contextmanager

import torch
from tests.browser import opened
from tests.view.maps.page.engine_page import Case, page

from attncost.patterns.causal import Causal
from attncost.patterns.full import Full

SMALL, LARGE, WIDE, HELD = range(4)
N = 900

# A map on the page's canvas, everything that it tells, and pixels that it painted.
PREPARED = """async () => {
  const canvas = document.querySelector("canvas")
  const told = { reads: [], moves: 0 }
  const map = new engine.MapView(canvas, {
    onRead: (...read) => told.reads.push(read), onMove: () => told.moves++,
  })
  const show = async (layer) => {
    map.show(await engine.openHead(layer, 0))
    map.clear()
    map.goTo(null, null, 0)
    await map.settled()
    told.reads.length = 0
  }
  const pixels = () => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height)
    const context = copy.getContext("2d", { willReadFrequently: true })
    context.drawImage(canvas, 0, 0)
    return (x, y) => [...context.getImageData(x, y, 1, 1).data]
  }
  globalThis.seen = { canvas, map, show, told, pixels }
}"""


def _cases():
    generator = torch.Generator().manual_seed(0)

    def drawn(n, m, d, **options):
        q, k = (2 * torch.randn(1, length, d, generator=generator) for length in (n, m))
        return Case(q=q, k=k, **options)

    padded = torch.arange(40) < 5
    causal = Causal().mask
    small = drawn(40, 40, 16, mask=causal(40, 40), padded=padded, documents=(5, 20))
    return [small, drawn(N, N, 4, mask=causal(N, N)), drawn(30, 120, 8, mask=Full().mask(30, 120))]


@contextmanager
def shows(browser, folder):
    """Yield what is seen of a page whose map shows any of these heads; it must stay silent."""
    file = folder / "page.html"
    held = torch.zeros(20, 20)
    held[:, 10:] = float("nan")
    file.write_text(page(_cases(), held=[held]), encoding="utf-8")
    with opened(browser, file) as seen:
        seen.page.evaluate(PREPARED)
        yield seen
    assert (seen.requests, seen.errors) == ([], [])


def shown(seen, layer):
    """Show all of a head, choose nothing, and return the page with the map in focus."""
    seen.page.evaluate("layer => seen.show(layer)", layer)
    seen.page.evaluate("scrollTo(0, 0)")
    seen.page.locator("canvas").focus()
    return seen.page


def view_of(page):
    """Return what is in sight once all is painted."""
    return page.evaluate("seen.map.settled().then(() => seen.map.view)")
