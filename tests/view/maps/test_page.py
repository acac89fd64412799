import base64
import html
import re
from hashlib import sha256
from html.parser import HTMLParser

import pytest
import torch
from tests.view.maps.reading import read_page
from tests.view.maps.seen import call

import attncost as ac
from attncost.core.errors import StorageError
from attncost.view.maps.maps import maps

HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "{{script}}",
    "\u2028\u2029",
    "\ud800",
    "\x00\x1b",
    "]]>&lt;'\"\\",
    "\U0001f600",
]


class Elements(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def _elements(page):
    parser = Elements()
    parser.feed(page)
    return parser.found


@pytest.fixture(scope="module")
def plain():
    seen = call(torch.Generator().manual_seed(0), ac.Causal(), n=len(HOSTILE))
    return maps({"layer": (seen,)}, prices={})


@pytest.fixture(scope="module")
def hostile():
    seen = call(torch.Generator().manual_seed(0), ac.Causal(), n=len(HOSTILE))
    name = "</script><b>"
    return maps({name: (seen,)}, prices={}, tokens=HOSTILE, title=HOSTILE[0], command=HOSTILE[1])


def test_hostile_tokens_stay_text(plain, hostile):
    page = hostile.html()
    page.encode("utf-8")
    header, _ = read_page(page)
    assert header["sequences"][0]["tokens"] == HOSTILE
    assert header["title"] == HOSTILE[0]
    assert header["layers"][0]["name"] == "</script><b>"
    tags = [tag for tag, _ in _elements(page)]
    assert tags == [tag for tag, _ in _elements(plain.html())]


def test_the_policy_allows_the_very_script_and_nothing_from_elsewhere(plain):
    page = plain.html()
    script = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL)[1]
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    policy = next(
        attrs["content"]
        for tag, attrs in _elements(page)
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert "http" not in policy
    assert not re.search(r"\{\{\w+\}\}", page.replace(script, ""))


def test_no_element_of_the_page_loads_anything(plain):
    for _, attrs in _elements(plain.html()):
        for name in ("src", "href", "data", "srcset", "action"):
            assert attrs.get(name, "#").startswith(("#", "data:"))


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(hostile):
    ((tag, attrs),) = _elements(hostile._repr_html_())
    assert tag == "iframe"
    assert attrs["srcdoc"] == hostile.html()
    assert "</script>" in attrs["title"]
    assert html.escape("</script>") in hostile._repr_html_()


def test_saving_writes_the_same_page(plain, tmp_path):
    plain.save(tmp_path / "maps.html")
    assert (tmp_path / "maps.html").read_text("utf-8") == plain.html()
    with pytest.raises(StorageError, match=r"maps.html cannot be written \(No such file.*\): "):
        plain.save(tmp_path / "nowhere" / "maps.html")


def test_the_page_says_what_it_contains(plain):
    assert any("contains the tokens" in note for note in plain.header["notes"])
