"""How much memory can still be taken here: the least of what the system, a limit and a user allow.

    system   MemAvailable of /proc/meminfo
    group    of every control group above the process, version 1 or 2: its limit, less what it uses
             without the files that the system would drop
    user     RLIMIT_AS less the addresses in use (`ulimit -v`)

Where a system says none of these, nothing is known.
"""

import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import torch

_ROOT: Final = Path("/")
_KIB: Final = 1024
# The name of the limit, of the use, and of the part of it that is files: versions 2 and 1.
_NAMES: Final = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def free(device: str, *, root: Path = _ROOT) -> int | None:
    """Return the bytes that can be taken on a device now; None if nobody says.

    Args:
        device: `cpu` or `cuda`.
        root: Where the system tells of itself.
    """
    if device == "cuda":
        left: int = torch.cuda.mem_get_info()[0]
        # What PyTorch keeps for later is as good as free.
        return left + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    found = [*_system(root), *_groups(root), *_user(root)]
    return max(0, min(found)) if found else None


def _system(root: Path) -> Iterator[int]:
    yield from (_KIB * size for size in _numbers(root / "proc/meminfo", "MemAvailable:"))


def _groups(root: Path) -> Iterator[int]:
    """Give what is left of the limit of each group."""
    for folder in _folders(root):
        for limit, used, files in _NAMES:
            limits, uses = (_read(folder / name) for name in (limit, used))
            if limits.strip().isdecimal() and uses.strip().isdecimal():
                dropped = sum(_numbers(folder / "memory.stat", files))
                yield int(limits) - int(uses) + dropped


def _folders(root: Path) -> Iterator[Path]:
    """Give the folder of each control group of the process, and of those above it."""
    mounted = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = mounted / "memory" if controllers else mounted
        inside = top / path.lstrip("/")
        yield from (one for one in (inside, *inside.parents) if one.is_relative_to(top))


def _user(root: Path) -> Iterator[int]:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        yield from (limit - _KIB * size for size in _numbers(root / "proc/self/status", "VmSize:"))


def _numbers(file: Path, name: str) -> Iterator[int]:
    """Give the number behind a name, if the file has it."""
    for line in _read(file).splitlines():
        words = line.split()
        if words[:1] == [name]:
            yield int(words[1])


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
