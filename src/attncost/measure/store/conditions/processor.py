"""The processor: its name, its instructions, and how much of it this process may use.

Linux tells all of it in files; of other systems the name and the number of cores are known, and
the rest is None.
"""

import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path("/")
# Instructions that change which kernels run: of x86, and of 64-bit ARM below.
_TELLING: Final = frozenset(
    {"avx", "avx2", "fma", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16"}
    | {"avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8", "amx_fp16"}
    | {"asimd", "asimddp", "asimdhp", "bf16", "i8mm", "sve", "sve2", "sme"}
)


def processor(root: Path = _ROOT) -> dict[str, Any]:
    """Return what is known of the processor.

    Args:
        root: Of the file system, for tests.
    """
    cores = list(_cores(root / "proc/cpuinfo"))
    first = cores[0] if cores else {}
    flags = set((first.get("flags") or first.get("Features") or "").split())
    return {
        "processor": first.get("model name") or platform.processor() or platform.machine(),
        "cpu_flags": sorted(flags & _TELLING) if flags else None,
        "cores": os.cpu_count(),
        "physical_cores": _physical(cores),
        "usable_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "cpu_quota": quota(root),
        "governor": _read(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "turbo": _turbo(root / "sys/devices/system/cpu"),
        "virtual": "hypervisor" in flags if flags else None,
    }


def quota(root: Path = _ROOT) -> float | None:
    """Return how many cores the control groups of this process grant; None if all, or unknown."""
    given = [*_granted_v2(root), *_granted_v1(root)]
    return min(given, default=None)


def _granted_v2(root: Path) -> Iterator[float]:
    """Yield the limit of the group and of each group around it."""
    groups, top = _read(root / "proc/self/cgroup") or "", root / "sys/fs/cgroup"
    own = next((line[3:] for line in groups.splitlines() if line.startswith("0::")), "/")
    group = top / own.lstrip("/")
    for place in (group, *group.parents):
        limit, _, period = (_read(place / "cpu.max") or "max").partition(" ")
        if limit.isdecimal() and period.isdecimal():
            yield int(limit) / int(period)
        if place == top:
            return


def _granted_v1(root: Path) -> Iterator[float]:
    group = root / "sys/fs/cgroup/cpu"
    limit, period = (_read(group / f"cpu.cfs_{name}_us") or "" for name in ("quota", "period"))
    if limit.isdecimal() and period.isdecimal():
        yield int(limit) / int(period)


def _cores(described: Path) -> Iterator[Mapping[str, str]]:
    """Yield what Linux says of each logical core."""
    for block in (_read(described) or "").split("\n\n"):
        pairs = (line.partition(":") for line in block.splitlines())
        if found := {name.strip(): value.strip() for name, _, value in pairs}:
            yield found


def _physical(cores: list[Mapping[str, str]]) -> int | None:
    """Count the cores that do not share one with another; virtual machines may not tell."""
    known = {(one.get("physical id"), one.get("core id")) for one in cores}
    return None if not known or any(None in one for one in known) else len(known)


def _turbo(cpus: Path) -> bool | None:
    """Say whether the clock may rise above its nominal rate."""
    if (forbidden := _read(cpus / "intel_pstate/no_turbo")) is not None:
        return forbidden == "0"
    allowed = _read(cpus / "cpufreq/boost")
    return None if allowed is None else allowed == "1"


def _read(file: Path) -> str | None:
    try:
        return file.read_text("utf-8", errors="replace").strip()
    except OSError:
        return None
