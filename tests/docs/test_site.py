"""The pages build strictly, without a network, and the built site asks nothing of other hosts."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from tests.docs.pages import ROOT

LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}
REMOTE = re.compile(r"^(https?:)?//")


class Loads(HTMLParser):
    """Collect what a page makes a browser fetch."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        wanted = LOADS.get(tag)
        self.found += [value for name, value in attrs if name == wanted and value]


def loads(html):
    parser = Loads()
    parser.feed(html)
    return parser.found


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_built(site):
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in ROOT.glob("docs/**/*.md")}
    built = {path.relative_to(site).with_suffix("") for path in site.glob("**/*.html")}
    names = {str(page).replace("README", "index") for page in pages}
    assert names <= {str(page) for page in built}
    assert len(names) >= 12


def test_nothing_is_loaded_from_another_host(site):
    for page in site.glob("**/*.html"):
        found = loads(page.read_text())
        assert found, "every page has a style"
        assert not [address for address in found if REMOTE.match(address)], page
    for style in site.glob("**/*.css"):
        addresses = re.findall(r"(?:@import\s+|url\()['\"]?([^'\")\s]+)", style.read_text())
        assert not [address for address in addresses if REMOTE.match(address)], style


def test_what_is_loaded_lies_in_the_site(site):
    for page in site.glob("**/*.html"):
        for address in loads(page.read_text()):
            path = address.partition("?")[0].partition("#")[0]
            target = site / path.lstrip("/") if path.startswith("/") else page.parent / path
            assert target.exists(), f"{page.name} loads {address}"
