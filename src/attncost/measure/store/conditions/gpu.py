"""The GPU that PyTorch would use now, where a run uses one."""

import re
from pathlib import Path
from typing import Any

import torch

from attncost.measure.host.files import ROOT, read


def gpu(root: Path = ROOT) -> dict[str, Any]:
    """Return what is known of the current CUDA device.

    Args:
        root: Of the file system, for tests.
    """
    properties = torch.cuda.get_device_properties()
    return {
        "device": torch.cuda.get_device_name(),
        "gpu_capability": f"{properties.major}.{properties.minor}",
        "gpu_processors": properties.multi_processor_count,
        "gpu_memory": properties.total_memory,
        "gpu_cache": properties.L2_cache_size,
        "gpu_clock_mhz": _clock_rate(),
        "gpu_driver": _driver(root / "proc/driver/nvidia/version"),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
    }


def _clock_rate() -> int | None:
    """Return the rate at this moment, which PyTorch knows where NVIDIA's library is installed."""
    try:
        return torch.cuda.clock_rate()
    except (ImportError, RuntimeError, OSError):
        return None


def _driver(described: Path) -> str | None:
    said = re.search(r"Kernel Module(?: for \S+)?\s+(\d[\d.]*)", read(described))
    return said.group(1) if said else None
