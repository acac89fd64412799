"""Memory: how much there is, how its pages are handed out, and by which allocator.

Pages of 2 MiB instead of 4 KiB spare most page faults, which a law of time may be made of. The
allocator that is loaded is told by the libraries that this process has mapped, so that one which
was linked and one which was preloaded are both seen.
"""

import platform
from pathlib import Path
from typing import Any, Final

from attncost.measure.host.files import ROOT, read, sizes
from attncost.measure.host.pages import defragmented, huge_pages

_KNOWN: Final = ("tcmalloc", "jemalloc", "mimalloc")


def memory(root: Path = ROOT) -> dict[str, Any]:
    """Return what is known of memory; None where the system does not tell.

    Args:
        root: Of the file system, for tests.
    """
    there = sizes(root / "proc/meminfo")
    return {
        "memory": there.get("MemTotal"),
        "memory_available": there.get("MemAvailable"),
        "huge_pages": huge_pages(root),
        "huge_pages_defrag": defragmented(root),
        "allocator": _allocator(root / "proc/self/maps"),
    }


def _allocator(maps: Path) -> str | None:
    """Return the file name of an allocator that is loaded beside the C library, or the latter."""
    loaded = {line.rpartition("/")[2] for line in read(maps).splitlines() if "/" in line}
    found = sorted(name for name in loaded if any(known in name for known in _KNOWN))
    library, version = platform.libc_ver()
    return ", ".join(found) or f"{library} {version}".strip() or None
