"""The pattern file that CONTRIBUTING.md shows: right by brute force, and enough by itself."""

import re
import shutil
import subprocess
import sys
import tomllib

import pytest
from tests.docs.pages import ROOT, defined_in, parsed
from tests.every import every_size
from tests.oracle import definition, random_qkv

import attncost as ac


@every_size
def test_its_pairs_and_output_are_those_of_its_definition(generator, n, m):
    pattern = defined_in("CONTRIBUTING.md")["Parity"]()
    mask = pattern.mask(n, m)
    assert mask.tolist() == [[(i + m - n - j) % 2 == 0 for j in range(m)] for i in range(n)]
    assert pattern.pairs(n, m) == int(mask.sum())
    q, k, v = random_qkv(generator, n, m)
    if n and m:
        expected, _ = definition(q, k, v, mask)
        assert (ac.attention(q, k, v, pattern) - expected).abs().max() < 1e-12


@pytest.mark.slow
def test_one_file_is_found_by_the_command_and_by_the_contract_tests(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "src", tmp_path / "src")
    (example,) = parsed(ROOT / "CONTRIBUTING.md")
    (tmp_path / "src/attncost/patterns/parity.py").write_text(str(example.parsed))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "src"))
    check = "import sys, attncost.cli; sys.exit(attncost.cli.main(['derive', 'parity']))"
    contract = ["-m", "pytest", "-q", "-k", "Parity", "--no-header", "--strict-config"]
    contract += ["-o", "addopts=--import-mode=importlib", "tests/patterns/test_contract.py"]
    for arguments in (["-c", check], contract):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_its_layers_are_those_that_imports_are_checked_against():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    checked = [name.strip("() ") for layer in layers for name in layer.split("|")]
    section = (ROOT / "CONTRIBUTING.md").read_text().split("## The layers")[1]
    drawn = re.findall(r"^(\w+) {2,}\w", section.split("```")[1], re.MULTILINE)
    homes = {path.name for path in (ROOT / "src/attncost").iterdir() if path.is_dir()}
    assert drawn == [name for name in checked if name in homes]
