"""The calculator's page in Chromium: how it is written, set and read."""

from contextlib import contextmanager

from tests.browser import opened

PAINTED = "() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"
ERRORS = "document.getElementById('errors').innerText"


@contextmanager
def shown(browser, file, *, link="", **how):
    """Yield the page, begun and painted, as it is seen."""
    with opened(browser, file, **how) as seen:
        until(seen.page, "Boolean(globalThis.attncost)")
        if link:
            follow(seen.page, link)
        seen.page.evaluate(PAINTED)
        assert seen.page.evaluate("attncost.begun")
        yield seen


def put(page, **settings):
    """Set what is named, and wait until it is painted."""
    page.evaluate("(settings) => attncost.set(settings)", settings)
    page.evaluate(PAINTED)
    # What is out of sight would be drawn a moment later.
    page.evaluate("attncost.rest()")


def type_into(page, name, text):
    """Type into the box of a size, as a person does."""
    page.fill(f"#{name}", text)
    page.evaluate(PAINTED)


def follow(page, link):
    """Go to another link of the same page."""
    page.evaluate("(link) => { location.hash = link }", link)
    page.evaluate(PAINTED)


def until(page, expression):
    """Wait for something; the policy of the page forbids Playwright's own way."""
    for _ in range(100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"never: {expression}")


def state(page, *names):
    """Return what is set."""
    found = page.evaluate("attncost.state")
    return tuple(found[name] for name in names)


def answers(page):
    """Return the answers as a text."""
    return page.locator("#answers").inner_text()


def wrong(page, name):
    """Return what is said to be wrong with a size."""
    return page.locator(f"#{name}-wrong").inner_text()
