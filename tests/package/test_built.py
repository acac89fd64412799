"""What the sdist and the wheel hold."""

import subprocess
import tarfile
from email import message_from_bytes
from zipfile import ZipFile

import pytest
from tests.package.conftest import ROOT

TEXT = "examples/data/pride_and_prejudice.txt"


def tracked(folder):
    """Return the files of a folder that git knows, or would."""
    command = ["git", "ls-files", "-co", "--exclude-standard", folder]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def names(wheel):
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_is_the_package_and_its_example_and_nothing_else(names):
    package = {name.removeprefix("src/") for name in tracked("src/attncost")}
    example = {"attncost/examples/pride_and_prejudice.txt"}
    assert {name for name in names if ".dist-info/" not in name} == package | example


@pytest.mark.parametrize(
    "needed",
    [
        "attncost/py.typed",
        "attncost/__init__.pyi",
        "attncost/cost/presets/llama-3-8b.json",
        "attncost/cost/planning/devices.json",
        "attncost/report/page.css",
        "attncost/report/calculator/page/page.html",
        "attncost/view/maps/page/page.html",
        "attncost/view/maps/page/90_page.js",
    ],
)
def test_what_is_no_python_is_inside(names, needed):
    assert needed in names


def test_the_sdist_has_all_that_builds_and_tests_it(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    wanted = set().union(*(tracked(folder) for folder in ("src", "tests", "docs", "benchmarks")))
    assert wanted | {TEXT, "LICENSE", "README.md", "Makefile", "constraints.txt"} <= found
    assert not [name for name in found if "__pycache__" in name or ".venv" in name]


def test_its_metadata_say_what_people_look_for(wheel):
    with ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        said = message_from_bytes(archive.read(name))
    assert (said["Name"], said["Requires-Python"]) == ("attncost", ">=3.11")
    assert said["License-Expression"] == "Apache-2.0"
    assert {"demo", "hf", "parquet", "train", "dev"} == set(said.get_all("Provides-Extra"))
    core = [one for one in said.get_all("Requires-Dist") if "extra ==" not in one]
    assert "torch>=2.11" in core
    assert not [one for one in core if "<" in one or "==" in one], "no upper bounds"
    versions = {one for one in said.get_all("Classifier") if "Python :: 3." in one}
    assert {one.rpartition(" ")[2] for one in versions} == {"3.11", "3.12", "3.13"}
    assert said.get_payload().startswith("# attncost")
