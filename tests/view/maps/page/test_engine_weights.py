"""Weights that a page computes from rounded queries and keys, against their definition."""

import base64

import numpy as np
import pytest
import torch
from tests.browser import opened
from tests.view.maps.page.engine_page import Case, page

from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.strided import Strided
from attncost.patterns.window import Window

WHOLE = """async ([layer, head]) => {
  const opened = await engine.openHead(layer, head)
  return engine.bytes(opened.tile(0, opened.n, 0, opened.m))
}"""


def _case(pattern, n, m, *, heads=1, groups=1, d=20, padded=None, segments=None, **options):
    generator = torch.Generator().manual_seed(n * m + d)
    q = 2 * torch.randn(heads, n, d, generator=generator)
    k = 2 * torch.randn(groups, m, d, generator=generator)
    mask = pattern.mask(n, m)
    if segments is not None:
        mask = mask & (segments[-n:, None] == segments[-m:])
    return Case(q=q, k=k, mask=mask, padded=padded, options=options)


def _drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5))


def _by_distance(heads, n, m):
    place = torch.arange(m)[None] - torch.arange(n)[:, None] + n - 1
    return _drawn(heads, n + m - 1)[:, place][None]


# A row that reads nothing though no pattern says so.
AWAY = torch.zeros(1, 1, 20, 20)
AWAY[..., 3, :] = AWAY[..., 5, 6:] = -torch.inf
CASES = {
    "causal": _case(Causal(), 70, 70),
    "causal behind a cache": _case(Causal(), 30, 75),
    "full": _case(Full(), 66, 66, d=7),
    "cross": _case(Full(), 7, 66),
    "more queries than keys": _case(Causal(), 75, 30),
    "window": _case(Window(width=9), 70, 70),
    "window on both sides": _case(Window(width=9, ahead=4), 70, 70),
    "strided": _case(Strided(7), 80, 80),
    "grouped": _case(Causal(), 40, 40, heads=4, groups=2),
    "documents": _case(Causal(), 60, 60, segments=torch.arange(60) // 23),
    "padded left": _case(Causal(), 50, 50, padded=torch.arange(50) < 9),
    "padded right": _case(Causal(), 50, 50, padded=torch.arange(50) > 40),
    "holes": _case(Full(), 12, 50, padded=torch.arange(50) % 7 == 3),
    "all padded": _case(Full(), 12, 20, padded=torch.ones(20, dtype=torch.bool)),
    "scaled": _case(Full(), 20, 20, scale=0.01),
    "capped": _case(Causal(), 60, 60, softcap=5.0),
    "by distance": _case(Full(), 33, 46, heads=2, bias=_by_distance(2, 33, 46)),
    "biased": _case(Causal(), 33, 46, heads=2, bias=_drawn(1, 2, 33, 46)),
    "biased alike": _case(Causal(), 33, 46, heads=2, bias=_drawn(1, 1, 1, 46)),
    "biased away": _case(Full(), 20, 20, bias=AWAY),
    "alibi": _case(Causal(), 40, 55, heads=2, alibi=torch.tensor([0.5, 0.25])),
    "sink": _case(Causal(), 40, 40, heads=2, sink=torch.tensor([3.0, -2.0])),
    "all of it": _case(
        Window(width=11),
        41,
        53,
        heads=4,
        groups=2,
        padded=torch.arange(53) > 49,
        softcap=8.0,
        bias=_drawn(1, 4, 41, 53),
        alibi=torch.tensor([0.1, 0.2, 0.3, 0.0]),
        sink=torch.ones(4),
    ),
}
ONE = torch.ones(1, 1, dtype=torch.bool)
HELD = torch.tensor([[0.25, 0.75, float("nan")], [0.0, 1e-9, 1.0]])


@pytest.fixture(scope="module")
def seen(browser, tmp_path_factory):
    file = tmp_path_factory.mktemp("engine") / "page.html"
    file.write_text(page(CASES.values(), held=[HELD]), encoding="utf-8")
    with opened(browser, file) as seen:
        yield seen
    assert (seen.requests, seen.errors) == ([], [])


def _floats(text):
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), dtype=np.float32).copy())


def _shown(case):
    """Return which pairs a page shows: padding hides keys, and queries of the same sequence."""
    mask = case.mask
    if case.padded is not None:
        mask = mask & ~case.padded
        if mask.shape[0] == mask.shape[1]:
            mask = mask & ~case.padded[:, None]
    return mask


@pytest.mark.parametrize("name", CASES)
def test_a_page_computes_the_weights_of_its_definition(seen, name):
    case = CASES[name]
    expected, _ = case.weights
    for head in range(len(case.q)):
        found = _floats(seen.page.evaluate(WHOLE, [list(CASES).index(name), head]))
        found = found.view(expected.shape[1:]).double()
        mask = _shown(case)
        assert torch.equal(found.isnan(), ~mask)
        large = mask & (expected[head] > 1e-6)
        torch.testing.assert_close(found[large], expected[head][large], rtol=1e-4, atol=0)
        small = mask & ~large
        assert found[small].lt(1.01e-6).all()


def test_a_query_that_reads_nothing_has_no_weights(seen):
    case = CASES["more queries than keys"]
    assert not case.mask[0].any()
    found = seen.page.evaluate(
        "async (layer) => { const head = await engine.openHead(layer, 0)\n"
        "return [head.row(0).every(Number.isNaN), head.top(0, 3), head.state(0, 0)] }",
        list(CASES).index("more queries than keys"),
    )
    assert found == [True, [], "masked"]


@pytest.mark.parametrize("name", ["strided", "all of it", "by distance", "window on both sides"])
def test_any_tile_row_or_pair_is_a_part_of_the_whole(seen, name):
    found = seen.page.evaluate(
        """async (layer) => {
          const head = await engine.openHead(layer, 0)
          const { n, m } = head
          const whole = head.tile(0, n, 0, m)
          const differ = (a, b) => !Object.is(a, b) && !(Math.abs(a - b) <= 1e-6 * b)
          const wrong = []
          for (const [row0, row1] of [[0, n], [3, 4], [5, 12], [n - 3, n]]) {
            for (const [key0, key1] of [[0, m], [0, 1], [9, 16], [17, 30], [m - 2, m]]) {
              head.tile(row0, row1, key0, key1).forEach((weight, z) => {
                const i = row0 + Math.floor(z / (key1 - key0))
                const j = key0 + z % (key1 - key0)
                if (differ(weight, whole[i * m + j])) wrong.push([i, j, weight])
              })
            }
          }
          for (let i = 0; i < n; i++) {
            head.row(i).forEach((w, j) => differ(w, whole[i * m + j]) && wrong.push([i, j, w]))
            if (differ(head.weight(i, 7), whole[i * m + 7])) wrong.push([i, 7])
          }
          return wrong
        }""",
        list(CASES).index(name),
    )
    assert found == []


@pytest.mark.parametrize("name", ["strided", "padded left", "padded right", "holes", "full"])
def test_a_pair_is_read_masked_or_padded(seen, name):
    case = CASES[name]
    states = seen.page.evaluate(
        """async (layer) => {
          const head = await engine.openHead(layer, 0)
          return Array.from({ length: head.n }, (_, i) =>
            Array.from({ length: head.m }, (_, j) => head.state(i, j)))
        }""",
        list(CASES).index(name),
    )
    read = torch.tensor([[state == "read" for state in row] for row in states])
    masked = torch.tensor([[state == "masked" for state in row] for row in states])
    assert torch.equal(read, _shown(case))
    hidden = case.mask.new_zeros(case.mask.shape)
    if case.padded is not None:
        hidden = case.padded | (case.padded[:, None] if len(hidden) == 50 else hidden)
    assert torch.equal(masked, ~case.mask & ~hidden)


def test_the_keys_that_a_query_reads_most_come_first(seen):
    case = CASES["causal"]
    found = seen.page.evaluate("async () => (await engine.openHead(0, 0)).top(60, 5)")
    weights = case.weights[0][0, 60]
    assert [key for key, _ in found] == weights.topk(5).indices.tolist()
    few = seen.page.evaluate("async () => (await engine.openHead(0, 0)).top(2, 5)")
    assert sorted(key for key, _ in few) == [0, 1, 2]
    assert sum(weight for _, weight in few) == pytest.approx(1)


def test_a_pooled_map_is_read_as_it_was_written(seen):
    masses = seen.page.evaluate(
        "async () => { const head = await engine.openHead(0, 0)\n"
        "return [head.map.rows, head.map.columns, head.mapAt(0, 0), head.mapAt(0, 20)] }"
    )
    assert masses[:2] == [35, 35]
    mass = CASES["causal"].weights[0][0, :2, :2].sum() / 2
    assert masses[2] == pytest.approx(float(mass), rel=0.03)
    assert np.isnan(masses[3])


def test_a_matrix_of_weights_is_shown_as_it_is(seen):
    whole = _floats(seen.page.evaluate(WHOLE, [len(CASES), 0])).view(2, 3)
    assert torch.equal(whole.nan_to_num(-1), HELD.nan_to_num(-1))
    found = seen.page.evaluate(
        "async (layer) => { const head = await engine.openHead(layer, 0)\n"
        "return [head.state(0, 2), head.state(1, 0), head.top(0, 9), head.weight(1, 2)] }",
        len(CASES),
    )
    assert found == ["masked", "read", [[1, 0.75], [0, 0.25]], 1]


def test_older_browsers_and_plain_blocks_give_the_same_numbers(browser, seen, tmp_path):
    names = ["grouped", "strided"]
    bits = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(torch.float16)
    every = Case(q=bits.view(1, 1, -1).float(), k=torch.zeros(1, 1, len(bits)), mask=ONE)
    file = tmp_path / "page.html"
    file.write_text(page([*(CASES[name] for name in names), every], old=True), encoding="utf-8")
    with opened(browser, file) as old:
        lacks = old.page.evaluate("[typeof Float16Array, typeof Uint8Array.fromBase64]")
        halves = old.page.evaluate(
            "async () => engine.bytes(await engine.decoded(engine.header.layers[2].heads[0].q))"
        )
        for layer, name in enumerate(names):
            here = seen.page.evaluate(WHOLE, [list(CASES).index(name), 0])
            assert old.page.evaluate(WHOLE, [layer, 0]) == here
    assert lacks == ["undefined", "undefined"]
    torch.testing.assert_close(_floats(halves), bits.float(), rtol=0, atol=0, equal_nan=True)
    assert (old.requests, old.errors) == ([], [])
