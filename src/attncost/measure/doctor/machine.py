"""What Linux says of this machine to whoever asks: cores, quotas, flags, huge pages, memory.

Each is None, or nothing, where the system does not tell it: no answer is made up.
"""

import os
from pathlib import Path
from typing import Final

_ROOT: Final = Path("/")
_V1: Final = "sys/fs/cgroup/cpu/cpu.cfs"


def allowed_cores() -> int:
    """Return how many logical cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def physical_cores(root: Path = _ROOT) -> int:
    """Return how many cores of their own the allowed ones are; all of them, if it is not told."""
    cores = set()
    for topology in (root / "sys/devices/system/cpu").glob("cpu[0-9]*/topology"):
        number = int(topology.parent.name.removeprefix("cpu"))
        if hasattr(os, "sched_getaffinity") and number not in os.sched_getaffinity(0):
            continue
        cores.add((_read(topology / "physical_package_id"), _read(topology / "core_id")))
    return len(cores) or allowed_cores()


def quota(root: Path = _ROOT) -> float | None:
    """Return how many cores' worth of time a container grants; None if it sets no limit."""
    words = (_read(root / "sys/fs/cgroup/cpu.max") or "").split()
    if not words:
        words = [_read(root / f"{_V1}_{name}_us") or "" for name in ("quota", "period")]
    if len(words) != 2 or not all(word.isdigit() for word in words) or words[1] == "0":
        return None
    return int(words[0]) / int(words[1])


def flags(root: Path = _ROOT) -> frozenset[str]:
    """Return what the processor can do, by the names that Linux gives it."""
    for line in (_read(root / "proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()


def huge_pages(root: Path = _ROOT) -> str | None:
    """Return who gets transparent huge pages: `always`, `madvise` or `never`."""
    told = _read(root / "sys/kernel/mm/transparent_hugepage/enabled") or ""
    return told.partition("[")[2].partition("]")[0] or None


def available_memory(root: Path = _ROOT) -> int | None:
    """Return the bytes that can be had without swapping."""
    for line in (_read(root / "proc/meminfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    return None


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
