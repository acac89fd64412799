"""Where a run was measured: what must be the same for two runs to be compared."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from attncost.measure.clocks.clock import Clock


def environment(clock: Clock, *, command: str, threads: int = 1) -> dict[str, Any]:
    """Return the machine, the versions and the clock.

    Args:
        clock: What times the calls.
        command: What repeats the run.
        threads: Of the CPU that PyTorch may use.
    """
    on_gpu = clock.device == "cuda"
    return {
        "command": command,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "clock": clock.name,
        "clock_reason": clock.reason,
        "threads": threads,
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "attncost": version("attncost"),
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def _processor() -> str:
    """Return the name that the processor gives itself, where Linux tells it."""
    described = Path("/proc/cpuinfo")
    if described.is_file():
        for line in described.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
