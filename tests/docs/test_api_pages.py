"""Every public name is on one page, with its docstring, its arguments and its members."""

import inspect
import re
import sys
from dataclasses import fields, is_dataclass
from importlib import import_module

import pytest
from tests.docs.pages import ROOT

import attncost as ac

SPACES = ("batches", "hf", "nn", "planning", "train")


@pytest.fixture(scope="module")
def pages():
    """What MkDocs' hook imports."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return import_module("api_pages")
    finally:
        sys.path.remove(str(ROOT / "docs"))


@pytest.fixture(scope="module")
def sections(pages):
    """Return what the pages say of each name; one name has one section."""
    found = {}
    for group in pages.names():
        parts = re.split(r"^## (\S+) \{ .*\}$", pages.Page(group).markdown, flags=re.MULTILINE)
        assert not found.keys() & set(parts[1::2])
        found |= dict(zip(parts[1::2], parts[2::2], strict=True))
    return found


def offered():
    """Return what users can write, by asking Python rather than the stub."""
    names = {f"ac.{name}": getattr(ac, name) for name in ac.__all__ if name not in SPACES}
    for space in SPACES:
        module = getattr(ac, space)
        tree = (ROOT / "src" / module.__name__.replace(".", "/") / "__init__.py").read_text()
        listed = re.findall(r"import (\w+) as (\w+)$", tree, re.MULTILINE)
        names |= {f"ac.{space}.{name}": getattr(module, name) for _, name in listed}
    return names


OFFERED = offered()


def test_the_pages_hold_every_public_name_and_no_other(sections):
    assert len(OFFERED) > 150
    assert sections.keys() == OFFERED.keys()


def test_a_section_says_what_the_docstring_says(sections):
    for name, thing in OFFERED.items():
        first, *_ = inspect.getdoc(thing).split("\n\n")
        assert " ".join(first.split()) in " ".join(sections[name].split()), name


def test_a_section_tells_every_argument_of_a_function(sections):
    for name, thing in OFFERED.items():
        if inspect.isfunction(thing):
            signature, _, told = sections[name].partition("```\n")
            for one in inspect.signature(thing).parameters:
                assert re.search(rf"\b{one}\b", signature), f"{name}: {one}"
            if "Args:" in inspect.getdoc(thing):
                assert "Arguments:\n\n- `" in told, name


def test_a_section_tells_every_field_and_every_method_of_a_class(sections):
    for name, thing in OFFERED.items():
        if not inspect.isclass(thing):
            continue
        for one in fields(thing) if is_dataclass(thing) else ():
            assert one.name.startswith("_") or one.name in sections[name], f"{name}.{one.name}"
        for key, member in vars(thing).items():
            ours = not key.startswith("_") and inspect.isfunction(member) and member.__doc__
            theirs = any(key in vars(parent) for parent in thing.__mro__[1:-1])
            assert not ours or theirs or f"### {key}" in sections[name], f"{name}.{key}"


def test_shapes_are_written_as_in_the_source(sections):
    assert 'alibi: Float[Tensor, "h"] | None = None,' in sections["ac.attention"]
    assert 'q: Float[Tensor, "b h n d"],' in sections["ac.attention"]
    assert "ac.Window(width: int = 256, ahead: int = 0)" in sections["ac.Window"]


def test_the_overview_links_every_name(pages):
    overview = pages.overview(map(pages.Page, pages.names()))
    assert set(re.findall(r"\[`(ac\.[\w.]+)`\]", overview)) == OFFERED.keys()
