"""Hands on a map: keys, wheel, pointer, fingers."""

import pytest
from tests.view.maps.page.engine_map import LARGE, SMALL, N, shown, view_of


def _press(page, *keys):
    for key in keys:
        page.keyboard.press(key)
    view = view_of(page)
    return view["chosen"] and tuple(view["chosen"].values())


def test_keys_move_the_chosen_pair(mapped):
    page = shown(mapped, SMALL)
    assert _press(page, "ArrowRight") == (19, 19)
    assert _press(page, "ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft") == (
        21,
        18,
    )
    assert _press(page, "ArrowUp", "Home") == (20, 0)
    assert _press(page, "End", "Control+End") == (39, 39)
    assert _press(page, "Control+Home") == (0, 39)
    assert _press(page, "Shift+ArrowDown") == (36, 39)
    assert _press(page, "PageUp", "Shift+ArrowLeft") == (0, 3)
    reads = page.evaluate("seen.told.reads")
    assert reads[-1][:2] == [0, 3]
    assert reads[-1][3:] == ["padded", True]
    assert _press(page, "Escape") is None
    assert page.evaluate("document.activeElement === seen.canvas")


def test_plus_minus_and_zero_zoom_and_the_chosen_pair_stays_in_sight(mapped):
    page = shown(mapped, LARGE)
    assert _press(page, "End", "Control+End") == (N - 1, 450 - 1)
    whole = view_of(page)
    _press(page, *["+"] * 9)
    view = view_of(page)
    assert view["zoom"] == pytest.approx(whole["zoom"] * 1.5**9)
    assert view["exact"]
    assert view["query"] + view["rows"] == pytest.approx(N)
    _press(page, "Home")
    assert view_of(page)["key"] == 0
    _press(page, "-")
    assert view_of(page)["zoom"] == pytest.approx(whole["zoom"] * 1.5**8)
    _press(page, *["+"] * 9)
    assert view_of(page)["zoom"] == 48
    _press(page, "0")
    assert view_of(page) == {**whole, "chosen": {"query": N - 1, "key": 0}}


def test_arrows_move_by_what_is_in_sight_where_pairs_are_too_small(mapped):
    page = shown(mapped, LARGE)
    start = _press(page, "ArrowDown")
    assert _press(page, "ArrowDown", "ArrowRight") == (start[0] + 15, start[1] + 15)


def test_keys_of_the_browser_stay_with_the_browser(mapped):
    page = shown(mapped, SMALL)
    before = view_of(page)
    kept = page.evaluate("""() => [["Tab"], ["+", "ctrlKey"], ["0", "metaKey"],
      ["ArrowLeft", "altKey"], ["Escape"], ["a"]].map(([key, modifier]) => {
        const options = { key, cancelable: true, [modifier ?? "shiftKey"]: true }
        return seen.canvas.dispatchEvent(new KeyboardEvent("keydown", options))
      })""")
    assert kept == [True] * 6
    assert view_of(page) == before


def test_a_wheel_zooms_at_the_pointer_and_scrolls_the_page_when_all_is_in_sight(mapped):
    page = shown(mapped, LARGE)
    page.mouse.move(100, 300)
    before = page.evaluate("seen.map.place.pairAt(100, 300)")
    for _ in range(6):
        page.mouse.wheel(0, -300)
    page.wait_for_function("seen.map.view.zoom > 10")
    after = page.evaluate("seen.map.place.pairAt(100, 300)")
    assert abs(after["query"] - before["query"]) <= 2
    assert abs(after["key"] - before["key"]) <= 2
    for _ in range(8):
        page.mouse.wheel(0, 300)
    page.wait_for_function("seen.map.view.rows === 900")
    page.mouse.wheel(0, 300)
    page.wait_for_function("scrollY > 0")


def test_a_drag_moves_and_a_click_chooses_and_a_pointer_only_reads(mapped):
    page = shown(mapped, LARGE)
    page.evaluate("seen.map.goTo(450, 200, 4)")
    before = view_of(page)
    page.mouse.move(200, 200)
    page.mouse.down()
    page.mouse.move(180, 160, steps=4)
    page.mouse.up()
    after = view_of(page)
    assert after["key"] - before["key"] == pytest.approx(5)
    assert after["query"] - before["query"] == pytest.approx(10)
    assert after["chosen"] == {"query": 450, "key": 200}
    page.mouse.move(41, 81)
    query, key, weight, state, chosen = page.evaluate("seen.told.reads.at(-1)")
    there = page.evaluate("seen.map.place.pairAt(41, 81)")
    assert ({"query": query, "key": key}, state, chosen) == (there, "read", False)
    assert weight == page.evaluate("([i, j]) => seen.map.head.weight(i, j)", [query, key])
    page.mouse.click(41, 81)
    assert view_of(page)["chosen"] == there
    page.mouse.move(700, 700)
    page.wait_for_function("seen.told.reads.at(-1)[4]")
    page.mouse.dblclick(41, 81)
    assert view_of(page)["zoom"] == pytest.approx(6)


def test_two_fingers_zoom_around_what_lies_between_them(mapped):
    page = shown(mapped, LARGE)
    touch = page.context.new_cdp_session(page)

    def fingers(kind, *places):
        points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(places)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    page.evaluate("seen.map.goTo(450, 200, 2)")
    before = view_of(page)
    middle = page.evaluate("seen.map.place.pairAt(200, 200)")
    fingers("touchStart", (180, 200), (220, 200))
    for apart in range(30, 90, 10):
        fingers("touchMove", (200 - apart, 200), (200 + apart, 200))
    fingers("touchEnd")
    page.wait_for_function("zoom => seen.map.view.zoom > 1.5 * zoom", arg=before["zoom"])
    after = page.evaluate("seen.map.place.pairAt(200, 200)")
    assert all(abs(after[name] - middle[name]) <= 5 for name in middle)
