"""The processor: its name, its instructions, and how much of it this process may use.

Linux tells all of it in files; of other systems the name and the number of cores are known, and
the rest is None.
"""

import os
import platform
from pathlib import Path
from typing import Any, Final

from attncost.measure.host.files import ROOT, read
from attncost.measure.host.processor import allowed, cores, flags, physical_cores, quota

# Instructions that change which kernels run: of x86, and of 64-bit ARM below.
_TELLING: Final = frozenset(
    {"avx", "avx2", "fma", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16"}
    | {"avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8", "amx_fp16"}
    | {"asimd", "asimddp", "asimdhp", "bf16", "i8mm", "sve", "sve2", "sme"}
)


def processor(root: Path = ROOT) -> dict[str, Any]:
    """Return what is known of the processor.

    Args:
        root: Of the file system, for tests.
    """
    told, able, usable = cores(root), flags(root), allowed()
    name = told[0].get("model name") if told else None
    return {
        "processor": name or platform.processor() or platform.machine(),
        "cpu_flags": sorted(able & _TELLING) if able else None,
        "cores": os.cpu_count(),
        "physical_cores": physical_cores(root),
        "usable_cores": None if usable is None else len(usable),
        "cpu_quota": quota(root),
        "governor": read(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or None,
        "turbo": _turbo(root / "sys/devices/system/cpu"),
        "virtual": "hypervisor" in able if able else None,
    }


def _turbo(cpus: Path) -> bool | None:
    """Say whether the clock may rise above its nominal rate."""
    if forbidden := read(cpus / "intel_pstate/no_turbo"):
        return forbidden == "0"
    allows = read(cpus / "cpufreq/boost")
    return allows == "1" if allows else None
