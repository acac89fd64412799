"""How much memory can still be taken here: the least of what the system, a limit and a user allow.

    system   MemAvailable of /proc/meminfo
    group    of every control group above the process, version 1 or 2: its limit, less what it uses
             without the files that the system would drop
    user     RLIMIT_AS less the addresses in use (`ulimit -v`)

Where a system says none of these, nothing is known.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import torch

from attncost.measure.host.files import ROOT, groups, read, sizes

# The name of the limit, of the use, and of the part of it that is files: versions 2 and 1.
_NAMES: Final = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def free(device: str = "cpu", *, root: Path = ROOT) -> int | None:
    """Return the bytes that can be taken on a device now; None if nobody says.

    Args:
        device: `cpu` or `cuda`.
        root: Of the file system, for tests.
    """
    if device == "cuda":
        left: int = torch.cuda.mem_get_info()[0]
        # What PyTorch keeps for later is as good as free.
        return left + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    found = [*_system(root), *_groups(root), *_user(root)]
    return max(0, min(found)) if found else None


def _system(root: Path) -> Iterator[int]:
    there = sizes(root / "proc/meminfo").get("MemAvailable")
    if there is not None:
        yield there


def _groups(root: Path) -> Iterator[int]:
    """Give what is left of the limit of each group."""
    for folder in groups("memory", root):
        for limit, used, files in _NAMES:
            limits, uses = read(folder / limit), read(folder / used)
            if limits.isdecimal() and uses.isdecimal():
                yield int(limits) - int(uses) + _files(folder / "memory.stat", files)


def _files(statistics: Path, name: str) -> int:
    lines = (line.split() for line in read(statistics).splitlines())
    return sum(int(words[1]) for words in lines if words[:1] == [name])


def _user(root: Path) -> Iterator[int]:
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit  # noqa: PLC0415 -- not on Windows
    except ImportError:
        return
    limit, _ = getrlimit(RLIMIT_AS)
    used = sizes(root / "proc/self/status").get("VmSize")
    if limit != RLIM_INFINITY and used is not None:
        yield limit - used
