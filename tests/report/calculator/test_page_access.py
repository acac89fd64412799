"""The page for everyone: axe, narrow screens, keys, paper, no script; and how fast it paints."""

import pytest
from tests.browser import opened, serious
from tests.report.calculator.page_in_chromium import PAINTED, put, shown

SMALL = """[...document.querySelectorAll("button, select, input, summary")]
  .filter((one) => one.checkVisibility() && one.type !== "file")
  .map((one) => [one.id || one.textContent, one.getBoundingClientRect()])
  .filter(([, { width, height }]) => width < 24 || height < 24)
  .filter(([name]) => !name.startsWith("follow")).map(([name]) => name)"""
# Seconds from an input event to the frame that shows it, for a walk of a slider.
MOVES = """async ([name, moves]) => {
  const slider = document.getElementById(`${name}-slider`)
  const painted = () => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))
  const taken = []
  for (let move = 0; move < moves; move++) {
    await painted()
    const begun = performance.now()
    slider.value = Math.round(slider.max * (0.3 + 0.4 * (move % 20) / 20))
    slider.dispatchEvent(new Event("input", { bubbles: true }))
    await new Promise(r => requestAnimationFrame(() => setTimeout(r)))
    taken.push((performance.now() - begun) / 1000)
  }
  return taken
}"""
# What `benchmarks/calculator.py` promises is 0.05; a loaded machine is five times slower.
PAINT_LIMIT = 0.25


@pytest.mark.slow  # axe itself takes a second a scheme
def test_axe_finds_nothing_serious(browser, calculator):
    with shown(browser, calculator) as seen:
        page = seen.page
        page.fill("#length", "many")
        assert serious(page, "html") == []
        page.emulate_media(color_scheme="dark")
        assert serious(page, "html", ["color-contrast"]) == []
        page.locator("#help").click()
        assert serious(page, "#shortcuts") == []
        page.add_style_tag(content="#shortcuts * { color: #444 !important }")
        assert [rule for rule, _ in serious(page, "#shortcuts")] == ["color-contrast"]


def test_nothing_is_wider_than_the_screen_and_all_is_large_enough_to_hit(browser, calculator):
    with shown(browser, calculator) as seen:
        page = seen.page
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        for width in (360, 700, 1280, 2560):
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate(PAINTED)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(SMALL) == []
        assert (seen.requests, seen.errors) == ([], [])


def test_everything_is_reached_by_the_tab_key(browser, calculator):
    with shown(browser, calculator) as seen:
        page = seen.page
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        wanted = set(
            page.evaluate(
                "[...document.querySelectorAll('input, select, main button')]"
                ".filter(one => one.checkVisibility() && !one.disabled).map(one => one.id)"
            )
        )
        reached = []
        for _ in range(len(wanted) + 40):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id"))
        assert wanted <= {*reached, ""}
        page.locator("#reset").focus()
        page.keyboard.press("?")
        assert page.locator("#shortcuts").is_visible()
        page.keyboard.press("Escape")
        assert not page.locator("#shortcuts").is_visible()


def test_shortcuts_do_not_meddle_with_typing_and_can_be_switched_off(browser, calculator):
    with shown(browser, calculator) as seen:
        page = seen.page
        before = page.evaluate("attncost.state.length")
        page.focus("#length")
        page.keyboard.press("]")
        assert page.evaluate("attncost.state.length") == before
        page.locator("#reset").focus()
        page.keyboard.press("]")
        assert page.evaluate("attncost.state.length") > before
        page.locator("#help").click()
        page.locator("#single-keys").uncheck()
        page.keyboard.press("Escape")
        after = page.evaluate("attncost.state.length")
        page.keyboard.press("]")
        assert page.evaluate("attncost.state.length") == after


def test_without_javascript_it_names_the_command(browser, calculator):
    with opened(browser, calculator, javascript=False) as seen:
        assert "attncost plan" in seen.page.locator("noscript").inner_text()
    assert seen.requests == []


def test_paper_is_black_on_white_and_says_what_was_set(browser, calculator):
    with shown(browser, calculator, scheme="dark", width=760) as seen:
        page = seen.page
        put(page, length=4321)
        page.emulate_media(media="print")
        page.evaluate(PAINTED)
        style = "getComputedStyle(document.body)"
        assert page.evaluate(f"{style}.color") == "rgb(0, 0, 0)"
        assert page.evaluate(f"{style}.backgroundColor") == "rgb(255, 255, 255)"
        assert not page.locator("#length-slider").is_visible()
        assert "Length: 4,321 tokens" in page.locator("#printed").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 760


def test_readers_of_screens_get_the_curves_as_a_table(browser, calculator):
    with shown(browser, calculator) as seen:
        page = seen.page
        put(page, length=5000, attention="causal", compared="full")
        assert page.locator(".chart").first.get_attribute("aria-hidden") == "true"
        row = page.locator("#table tr[aria-current]").inner_text()
        total = page.locator("#answers strong").first.inner_text()
        assert row.startswith("5,000")
        assert total in row


def test_a_move_of_a_slider_is_painted_soon(browser, calculator):
    with shown(browser, calculator) as seen:
        page = seen.page
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        taken = sorted(page.evaluate(MOVES, ["length", 20]))
        assert taken[-2] < PAINT_LIMIT
        assert len(set(taken)) > 1
