"""The policy names everything that it makes promises of: schemas, entry points, versions."""

import re
import tomllib

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs/api-stability.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src/attncost"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_schema_that_is_written_or_read_is_listed_and_no_other():
    files = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.js")]
    written = "\n".join(path.read_text(encoding="utf-8") for path in files)
    schemas = set(re.findall(r'"(attncost\.[a-z_.]+/\d+)"', written))
    assert set(re.findall(r"`(attncost\.[a-z_.]+/\d+)`", PAGE)) == schemas
    assert len(schemas) > 20


def test_every_folder_that_others_may_add_to_is_listed_and_no_other():
    listed = re.findall(r"^\| `(attncost\.[a-z_.]+)` \| a", PAGE, re.MULTILINE)
    found = [
        str(path.parent.relative_to(ROOT / "src")).replace("/", ".")
        for path in SOURCE.rglob("__init__.py")
        if "= Catalogue(" in path.read_text(encoding="utf-8")
    ]
    assert sorted(listed) == sorted(found)


def test_versions_are_those_of_the_package():
    assert PROJECT["requires-python"] == ">=3.11"
    assert "| Python | 3.11, 3.12, 3.13 |" in PAGE
    assert "torch>=2.11" in PROJECT["dependencies"]
    assert "| PyTorch | 2.11 and later, without an upper bound |" in PAGE
    assert PROJECT["optional-dependencies"]["hf"] == ["transformers>=5.24"]
    assert "| transformers, extra `hf` | 5.24 and later |" in PAGE
