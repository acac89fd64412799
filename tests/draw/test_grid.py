import re
from xml.etree import ElementTree

import pytest
import torch
from tests.browser import opened

from attncost import ShapeError
from attncost.draw.grid import Grid, svg, text
from attncost.draw.sampled import sampled

NAMESPACE = "{http://www.w3.org/2000/svg}"
LINE = re.compile(r"M(\d+) (\d+)h(\d+)")


def band(query, key):
    return (key <= query) & (key > query - 7)


def scattered(query, key):
    return (query * 31 + key * 17 + query * key) % 5 == 0


def drawn(grid):
    return ElementTree.fromstring(svg(grid, title="a grid"))


def painted(root):
    """Return the opacity of every cell that has one, read back from the lines."""
    return {
        (int(y), int(x) + i): float(path.get("stroke-opacity", "1"))
        for path in root.iter(f"{NAMESPACE}path")
        for x, y, length in LINE.findall(path.get("d"))
        for i in range(int(length))
    }


@pytest.mark.parametrize("rule", [band, scattered])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (64, 64), (5, 40), (40, 5), (100, 70), (70, 300)])
def test_a_cell_is_the_share_of_its_pairs(rule, n, m):
    grid = sampled(rule, n, m, most=(32, 64))
    rows, columns = min(n, 32), min(m, 64)
    assert len(grid.shares) == rows
    for r, row in enumerate(grid.shares):
        assert len(row) == columns
        for c, share in enumerate(row):
            pairs = [
                bool(rule(q + m - n, k))
                for q in range(n * r // rows, n * (r + 1) // rows)
                for k in range(m * c // columns, m * (c + 1) // columns)
            ]
            assert share == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)
    everything = sum(bool(rule(q + m - n, k)) for q in range(n) for k in range(m))
    assert grid.share == pytest.approx(everything / (n * m))


def test_a_million_tokens_are_looked_at_in_few_places():
    n, asked = 10**6, []

    def wide_band(query, key):
        asked.append(len(query) * len(key))
        return (key <= query) & (key > query - n // 4)

    grid = sampled(wide_band, n, n, most=(64, 64))
    assert max(asked) <= 64 * 64 * 64
    assert grid.share == pytest.approx(1 / 4 - 1 / 32, abs=1e-3)
    assert grid == sampled(wide_band, n, n, most=(64, 64))


def test_what_repeats_evenly_is_neither_missed_nor_overrated():
    def every_sixteenth(query, key):
        return (key % 16 == 0) & (query >= 0)

    grid = sampled(every_sixteenth, 64, 2**20, most=(1, 8))
    assert grid.share == pytest.approx(1 / 16, abs=0.03)
    assert 0 < min(grid.shares[0]) <= max(grid.shares[0]) < 1 / 4


def test_the_diagonal_of_a_long_sequence_is_not_overrated():
    n = 2**16
    grid = sampled(lambda query, key: (query - key).abs() < 256, n, n, most=(64, 64))
    assert grid.share == pytest.approx(511 / n, rel=0.1)


def test_a_terminal_shows_each_pair_of_a_small_one():
    assert text(sampled(band, 2, 9, most=(32, 64))) == "·■■■■■■■·\n··■■■■■■■"


def test_a_terminal_shows_shades_of_a_large_one_and_keeps_the_last_for_all():
    shares = ((0, 1e-9, 0.33, 0.34, 0.66, 0.67, 1 - 1e-9, 1),)
    assert text(Grid(3, 80, shares)) == "·░░▒▒▓▓█"
    rows = text(sampled(scattered, 500, 900, most=(32, 64))).splitlines()
    assert {len(row) for row in rows} == {64}
    assert len(rows) == 32


@pytest.mark.parametrize(("n", "m"), [(64, 64), (3, 50), (50, 3), (1, 1)])
def test_a_picture_paints_the_pairs_that_are_read(n, m):
    allowed = scattered(torch.arange(n)[:, None] + m - n, torch.arange(m))
    cells = painted(drawn(sampled(scattered, n, m, most=(64, 64))))
    assert cells == {(q, k): 1.0 for q in range(n) for k in range(m) if allowed[q, k]}


def test_a_fuller_cell_is_never_fainter_and_every_one_can_be_seen():
    shares = tuple(i / 1000 for i in range(1001))
    cells = painted(drawn(Grid(9, 2000, (shares,))))
    opacities = [cells.get((0, x), 0.0) for x in range(1001)]
    assert opacities == sorted(opacities)
    assert opacities[0] == 0
    assert opacities[1] >= 0.15
    assert opacities[-1] == 1


def test_a_picture_says_what_it_is():
    root = drawn(sampled(band, 8, 2000, most=(64, 64)))
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.find(f"{NAMESPACE}title").text == "a grid"
    assert [node.text for node in root.iter(f"{NAMESPACE}text")] == ["2,000 keys", "8 queries"]
    assert "0.350 % of all" in root.find(f"{NAMESPACE}desc").text
    lone = drawn(sampled(band, 1, 1, most=(64, 64)))
    assert [node.text for node in lone.iter(f"{NAMESPACE}text")] == ["1 key", "1 query"]


def test_a_picture_stays_small_and_follows_the_colours_of_its_page():
    checkers = svg(sampled(lambda q, k: (q + k) % 2 == 0, 64, 64, most=(64, 64)), title="worst")
    assert len(checkers) <= 20_000
    assert "var(--s0," in checkers
    assert " id=" not in checkers


def test_a_title_is_text():
    bad = "<script>alert(1)</script>\"'&"
    picture = svg(Grid(1, 1, ((1,),)), title=bad)
    assert "<script" not in picture
    assert ElementTree.fromstring(picture).get("aria-label") == bad


def test_what_cannot_be_drawn_is_refused():
    for n, m in ((0, 4), (4, 0), (-1, 4)):
        with pytest.raises(ShapeError, match=f"1 query and 1 key, got n = {n} and m = {m}"):
            sampled(band, n, m, most=(64, 64))
    for shares in ((), ((),), ((1, 0), (1,))):
        with pytest.raises(ShapeError, match="rows of as many cells"):
            Grid(2, 2, shares)
    with pytest.raises(ShapeError, match=r"between 0 and 1, got 1\.5"):
        Grid(1, 1, ((1.5,),))


CUT_OFF = """() => [...document.querySelectorAll('svg')].flatMap(picture => {
  const frame = picture.getBoundingClientRect()
  return [...picture.querySelectorAll('text, path')].map(node => node.getBoundingClientRect())
    .filter(box => box.left < frame.left - .1 || box.top < frame.top - .1 ||
      box.right > frame.right + .1 || box.bottom > frame.bottom + .1).map(() => picture.outerHTML)
})"""


def test_nothing_of_a_picture_is_cut_off(browser, tmp_path):
    sizes = [(1, 1), (1, 10**9), (10**9, 1), (2, 3), (7, 64), (64, 64), (10**6, 64)]
    pictures = [svg(sampled(band, n, m, most=(64, 64)), title="t") for n, m in sizes]
    file = tmp_path / "pictures.html"
    file.write_text("<meta charset=utf-8>" + "".join(pictures), encoding="utf-8")
    with opened(browser, file, width=360) as seen:
        assert seen.page.locator("svg").count() == len(sizes)
        assert seen.page.evaluate(CUT_OFF) == []
        seen.page.evaluate("document.querySelector('svg').setAttribute('viewBox', '9 9 9 9')")
        assert seen.page.evaluate(CUT_OFF) != []
