"""Memory: how much there is, how its pages are handed out, and by which allocator.

Pages of 2 MiB instead of 4 KiB spare most page faults, which a law of time may be made of. The
allocator that is loaded is told by the libraries that this process has mapped, so that one which
was linked and one which was preloaded are both seen.
"""

import platform
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path("/")
_KNOWN: Final = ("tcmalloc", "jemalloc", "mimalloc")
_KIB: Final = 1024


def memory(root: Path = _ROOT) -> dict[str, Any]:
    """Return what is known of memory; None where the system does not tell.

    Args:
        root: Of the file system, for tests.
    """
    pages = root / "sys/kernel/mm/transparent_hugepage"
    own = _fields(root / "proc/self/status")
    total = _fields(root / "proc/meminfo")
    forbidden = own.get("THP_enabled") == "0"
    return {
        "memory": _bytes(total.get("MemTotal")),
        "memory_available": _bytes(total.get("MemAvailable")),
        "huge_pages": "never, for this process" if forbidden else _chosen(pages / "enabled"),
        "huge_pages_defrag": _chosen(pages / "defrag"),
        "allocator": _allocator(root / "proc/self/maps"),
    }


def _allocator(maps: Path) -> str | None:
    """Return the file name of an allocator that is loaded beside the C library, or the latter."""
    loaded = {line.rpartition("/")[2] for line in _lines(maps) if "/" in line}
    found = sorted(name for name in loaded if any(known in name for known in _KNOWN))
    library, version = platform.libc_ver()
    return ", ".join(found) or f"{library} {version}".strip() or None


def _chosen(file: Path) -> str | None:
    """Return the word in brackets, as in `always [madvise] never`."""
    for line in _lines(file):
        return line.partition("[")[2].partition("]")[0] or None
    return None


def _fields(file: Path) -> dict[str, str]:
    pairs = (line.partition(":") for line in _lines(file))
    return {name: value.strip() for name, _, value in pairs}


def _bytes(said: str | None) -> int | None:
    return None if said is None else int(said.split()[0]) * _KIB


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return []
