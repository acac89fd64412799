"""The wheel in an environment of its own, run from an empty folder without a network."""

import json

import pytest
from tests.package.conftest import files, run

LAYER = "layer:d_model=512,heads=8"


@pytest.fixture
def attncost(installed, offline, tmp_path):
    def call(*arguments, status=0):
        command = [*offline, installed / "bin" / "attncost", *arguments]
        return run(command, folder=tmp_path, status=status, environment={"HOME": str(tmp_path)})

    return call


def test_nothing_is_missing_or_broken(installed):
    python = installed / "bin" / "python"
    assert "No broken requirements" in run([python, "-m", "pip", "check"], folder=installed).stdout
    run([python, "-c", "import attncost; attncost.Window(4)"], folder=installed)


def test_a_layer_is_reported_on(attncost, tmp_path):
    few = ("--lengths", "64,128,256", "--rounds", "3", "--brief")
    printed = attncost("report", LAYER, *few).stdout
    assert printed.startswith(f"What attention costs in {LAYER}")
    assert "half from 1,024" in printed
    page = tmp_path / "attncost-report.html"
    assert "<svg" in page.read_text()


def test_texts_presets_and_templates_come_along(attncost, tmp_path):
    assert "Batches of 32" in attncost("report", LAYER, "--no-measure").stdout
    planned = attncost("plan", "llama-3-8b", "--memory", "80GiB", "--for", "decode", "--json")
    assert json.loads(planned.stdout)["schema"] == "attncost.plan/1"
    assert "4·n²·d" in attncost("derive", "full").stdout
    attncost("calculator", "-o", "page.html")
    assert "</html>" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("demo",), "attncost[demo]"),
        (("quality", "digits", "--steps", "1"), "attncost[train]"),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(attncost, arguments, extra):
    (line,) = attncost(*arguments, status=2).stderr.splitlines()
    assert line.startswith("attncost: ")
    assert extra in line


def test_it_leaves_nothing_behind(installed):
    """Runs last: a file's tests run in order."""
    everything = files(installed)
    python = installed / "bin" / "python"
    run([python, "-m", "pip", "uninstall", "-qq", "-y", "attncost"], folder=installed)
    left = files(installed)
    assert not [name for name in left if "attncost" in name]
    gone = everything - left
    assert gone
    assert all("attncost" in name for name in gone), "nothing of others went with it"
    assert not [path for path in (installed / "lib").rglob("attncost*") if path.is_dir()]
