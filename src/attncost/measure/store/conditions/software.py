"""Versions of what runs, and the revision of attncost where it is run from a checkout."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

_CHECKOUT: Final = Path(__file__).parents[5]
_PATIENCE: Final = 5.0  # seconds for a disk that sleeps


def software() -> dict[str, Any]:
    """Return versions; None of what is not installed."""
    return {
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "transformers": _version("transformers"),
        "attncost": _version("attncost"),
        "platform": platform.platform(),
        **revision(_CHECKOUT),
    }


def revision(checkout: Path) -> dict[str, Any]:
    """Return the commit of a checkout, and whether its files differ; None if it is none."""
    head = _git(checkout, "rev-parse", "HEAD") if (checkout / ".git").exists() else None
    changed = _git(checkout, "status", "--porcelain", "--untracked-files=no") if head else None
    return {"git_revision": head, "git_dirty": None if changed is None else bool(changed)}


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git(checkout: Path, *words: str) -> str | None:
    """Ask git, and take no lock that someone who commits would meet."""
    try:
        said = subprocess.run(
            ["git", "-C", str(checkout), *words],
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            check=True,
            text=True,
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return said.stdout.strip()
