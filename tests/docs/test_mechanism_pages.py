"""Every mechanism and every formula has a page that is made from its file."""

import inspect
import re
import sys
from importlib import import_module

import pytest
from tests.docs.pages import ROOT

from attncost import Full, mechanisms, nn
from attncost.core.cost import Cost
from attncost.core.dims import Dims
from attncost.core.units import show
from attncost.kernels.interface import priced
from attncost.mechanisms import formulas

NAMES = (*mechanisms.names(), *formulas.names())
LENGTHS = (1024, 4096, 16384)


@pytest.fixture(scope="module")
def pages():
    """What MkDocs' hook imports."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return import_module("mechanism_pages")
    finally:
        sys.path.remove(str(ROOT / "docs"))


def kind_of(name):
    return (mechanisms if name in mechanisms.names() else formulas).load(name)


def test_all_of_them_have_one(pages):
    assert pages.names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_what_the_file_says_and_where_it_is_from(pages, name):
    text = " ".join(pages.Page(name).markdown.replace("**", "").split())
    said = " ".join(inspect.getdoc(inspect.getmodule(kind_of(name))).split())
    assert said in text
    assert "O(" in said
    assert "Use it when " in said
    assert re.search(r"\bNot (when|for) ", said)
    assert "](https://arxiv.org/abs/" in text
    assert ("nothing that runs it" in text) == (name in formulas.names())


@pytest.mark.parametrize("name", NAMES)
def test_a_page_prices_it_at_three_lengths(pages, name):
    text = pages.Page(name).markdown
    for n in LENGTHS:
        dims = Dims(heads=8, length=n, head_dim=64)
        cost, full = kind_of(name)().cost(dims), priced(Full(), dims).useful
        cells = (f"{n:,}", *(show(flops, "flops") for flops in (cost.useful, cost.executed, full)))
        assert f"| {' | '.join(cells)} | {show(cost.executed / full, 'percent')} |" in text


@pytest.mark.parametrize("name", NAMES)
def test_a_page_derives_a_layer_whose_steps_add_up(pages, name):
    text = pages.Page(name).markdown
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    steps = [row for row in rows if row[0].endswith(" projection") or "·" in "".join(row[1:2])]
    *each, total = [row for row in steps if len(row) >= 3]
    flops = [int(row[2].replace(",", "")) for row in each if row[2].strip("| ")]
    assert total[0] == "**total**"
    assert sum(flops) == int(total[2].replace(",", "")) > 8 * 4096 * 512**2


@pytest.mark.parametrize("name", NAMES)
def test_a_page_tells_every_parameter_and_code_that_runs(pages, name):
    text = pages.Page(name).markdown
    for parameter in inspect.signature(kind_of(name)).parameters:
        assert re.search(rf"- `{parameter}` \(`[^`]+` if left out\): [A-Z\"]", text), parameter
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    found = {}
    exec(code, found)
    if name in mechanisms.names():
        assert isinstance(found["layer"], nn.Attention)
    else:
        assert isinstance(found["cost"], Cost)
    assert f"attncost derive {name}:" in text


def test_the_overview_tells_what_runs_from_what_has_a_price_alone(pages):
    text = pages.overview(map(pages.Page, NAMES))
    runs, priced_alone = text.split("## What runs")[1].split("## Formulas only")
    assert re.findall(r"\| \[(\w+)\]", runs) == list(mechanisms.names())
    assert re.findall(r"\| \[(\w+)\]", priced_alone) == list(formulas.names())
