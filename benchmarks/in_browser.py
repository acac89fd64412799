"""What headless Chromium, which can reach nothing, takes to show a page."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, Final, final

# Playwright's page; it is optional.
Page = Any

_ARGUMENTS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--enable-precise-memory-info",
)
_PAINTED: Final = "() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"
_LONGEST: Final = 120
# What draws something, icons aside.
_SHOWN: Final = (
    "() => [...document.querySelectorAll('canvas, svg, img')]"
    ".filter(one => one.getBoundingClientRect().width > 20).length"
)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """A page as it was opened.

    Attributes:
        bytes: Of its file.
        seconds: Until it was ready and painted; None if it was not within two minutes.
        heap: Bytes that its script holds then.
        shown: Pictures that it shows.
        requests: Addresses that it asked for beside its own.
        errors: What it complained about.
        found: What was asked of it.
    """

    bytes: int
    seconds: float | None
    heap: int
    shown: int
    requests: int
    errors: int
    found: dict[str, Any]


def missing() -> str | None:
    """Return why there is no browser, if so."""
    if find_spec("playwright") is None:
        return "playwright is not installed; `make bench` does that."
    return None if shutil.which("chromium") else "there is no chromium on the path."


@contextmanager
def browser() -> Iterator[Any]:
    """Yield a browser."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 -- optional

    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        found = playwright.chromium.launch(executable_path=path, args=[*_ARGUMENTS])
        try:
            yield found
        finally:
            found.close()


def opened(
    browser: Any,  # noqa: ANN401 -- Playwright is optional
    file: Path,
    *,
    ready: str = "",
    ask: Callable[[Page], dict[str, Any]] = lambda _page: {},
) -> Opened:
    """Open a page, wait until it is ready, and ask something of it.

    Args:
        browser: What opens it.
        file: The page.
        ready: JavaScript whose promise says that; the load event alone, if left out.
        ask: Asks it.
    """
    from playwright.sync_api import Error  # noqa: PLC0415 -- optional

    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page, requests, errors = context.new_page(), list[str](), list[str]()
    page.set_default_timeout(1000 * _LONGEST)
    page.on("request", lambda one: requests.append(one.url))
    page.on("pageerror", lambda one: errors.append(str(one)))
    page.on("console", lambda one: errors.append(one.text) if one.type == "error" else None)
    begun, seconds = perf_counter(), None
    try:
        page.goto(file.as_uri(), wait_until="load", timeout=1000 * _LONGEST)
        if ready:
            page.evaluate(ready)
        page.evaluate(_PAINTED)
        seconds = perf_counter() - begun
        heap, shown = page.evaluate("performance.memory.usedJSHeapSize"), page.evaluate(_SHOWN)
        found = ask(page)
    except Error as error:
        errors.append(str(error))
        heap, shown, found = 0, 0, {}
    finally:
        context.close()
    other = [one for one in requests if one.startswith("http")]
    return Opened(
        bytes=file.stat().st_size,
        seconds=seconds,
        heap=heap,
        shown=shown,
        requests=len(other),
        errors=len(errors),
        found=found,
    )
