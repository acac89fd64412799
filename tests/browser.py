"""A page seen by headless Chromium that can reach nothing."""

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec

import pytest

_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@dataclass(frozen=True)
class Seen:
    """An open page, and what it asked for and complained about."""

    page: object
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@contextmanager
def chromium():
    """Yield a browser; skip without one, unless ATTNCOST_REQUIRE names chromium."""
    if find_spec("playwright") is None:
        missing("chromium", "playwright is not installed")
    path = shutil.which("chromium")
    if path is None:
        missing("chromium", "there is no chromium on the path")
    with import_module("playwright.sync_api").sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser, file, *, width=1280, scheme="light", javascript=True):
    """Yield what is seen of a file: requests other than itself are counted and go nowhere."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        java_script_enabled=javascript,
        offline=True,
    )
    seen = Seen(context.new_page())
    address = file.as_uri()

    def answer(route):
        if route.request.url == address:
            route.continue_()
        else:
            seen.requests.append(route.request.url)
            route.abort()

    def complained(message):
        if message.type in ("error", "warning"):
            seen.errors.append(message.text)

    seen.page.on("console", complained)
    seen.page.on("pageerror", lambda error: seen.errors.append(str(error)))
    seen.page.route("**/*", answer)
    try:
        seen.page.goto(address)
        yield seen
    finally:
        context.close()


def serious(page, part="html", rules=None):
    """Return what axe-core finds serious in a part of a page: rules, and where they are broken."""
    if find_spec("axe_playwright_python") is None:
        missing("axe", "axe-playwright-python is not installed")
    if page.evaluate("typeof axe") == "undefined":
        axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
        page.evaluate(axe)
    options = {"resultTypes": ["violations"], **({} if rules is None else {"runOnly": rules})}
    found = page.evaluate("([part, options]) => axe.run(part, options)", [part, options])
    return [
        (one["id"], [node["target"] for node in one["nodes"]][:5])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def missing(name, what):
    """Skip, or fail if ATTNCOST_REQUIRE, names with commas in between, asks for this one."""
    if name in os.environ.get("ATTNCOST_REQUIRE", "").split(","):
        pytest.fail(f"ATTNCOST_REQUIRE asks for {name}, but {what}.")
    pytest.skip(f"{what}; ATTNCOST_REQUIRE={name} makes this an error.")
