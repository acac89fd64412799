"""Every Python block of every page runs; a page is one namespace, from top to bottom."""

import re

import pytest
from tests.docs.pages import PAGES, ROOT, parsed

FENCE = re.compile(r"^```(.*)$", re.MULTILINE)
LANGUAGES = {"python", "sh", "text", "json", "latex"}


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES if "```python" in p.read_text()], ids=name)
def test_the_code_blocks_of_a_page_run_in_order(page):
    blocks = list(parsed(page))
    assert blocks
    for block in blocks:
        block.evaluate()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_says_its_language_so_that_no_python_is_passed_over(page):
    fences = FENCE.findall(page.read_text())
    assert set(fences[::2]) <= LANGUAGES
    assert set(fences[1::2]) <= {""}
