"""The sdist and the wheel, built once, and a clean environment with the wheel alone in it.

`make package` runs these tests. They take a minute, as a clean environment is filled from pip's
index; what is installed there then runs without a network.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Nothing of ours may come in from the checkout, and nothing may be asked of a network.
QUIET = {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1"}


def run(command, *, folder, status=0, environment=None):
    finished = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | QUIET | (environment or {}),
        timeout=600,
        check=False,
    )
    assert finished.returncode == status, finished.stdout + finished.stderr
    return finished


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Return a folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT]
    run(command, folder=folder)
    return folder


@pytest.fixture(scope="session")
def wheel(built):
    (found,) = built.glob("*.whl")
    return found


def files(folder):
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="session")
def clean(tmp_path_factory):
    """Return an environment with what attncost depends on, and without attncost."""
    folder = tmp_path_factory.mktemp("clean")
    run([sys.executable, "-m", "venv", folder], folder=folder)
    yield folder
    shutil.rmtree(folder)  # 1.2 GB


@pytest.fixture(scope="session")
def installed(clean, wheel):
    """Return that environment with the wheel in it."""
    pip = [clean / "bin" / "python", "-m", "pip", "install", "-qq"]
    constraints = ["-c", ROOT / "constraints.txt"]
    run([*pip, *constraints, wheel], folder=clean)
    return clean


@pytest.fixture(scope="session")
def offline():
    """Return what a command is begun with so that it has no network, where the system can do so."""
    for prefix in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        if shutil.which(prefix[0]):
            tried = subprocess.run([*prefix, "true"], capture_output=True, check=False)
            if not tried.returncode:
                return prefix
    return ["env", "http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9"]
