"""The processor: its cores, what they can do, and how many of them this process may use."""

import os
from collections.abc import Mapping
from pathlib import Path

from attncost.measure.host.files import ROOT, fields, groups, read


def cores(root: Path = ROOT) -> list[Mapping[str, str]]:
    """Return what Linux says of each logical core.

    Args:
        root: Of the file system, for tests.
    """
    return [fields(block) for block in read(root / "proc/cpuinfo").split("\n\n") if block]


def flags(root: Path = ROOT) -> frozenset[str]:
    """Return what the processor can do, by the names that Linux gives it; nothing if not told."""
    first = next(iter(cores(root)), {})
    return frozenset((first.get("flags") or first.get("Features") or "").split())


def allowed() -> frozenset[int] | None:
    """Return the numbers of the logical cores that this process may run on; None if not told."""
    return frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def physical_cores(root: Path = ROOT, *, among: frozenset[int] | None = None) -> int | None:
    """Count the cores that do not share one with another; virtual machines may not tell.

    Args:
        root: Of the file system, for tests.
        among: The numbers of the logical cores that count; all, if left out.
    """
    numbers = None if among is None else set(map(str, among))
    counted = [one for one in cores(root) if numbers is None or one.get("processor") in numbers]
    known = {(one.get("physical id"), one.get("core id")) for one in counted}
    return None if not known or any(None in one for one in known) else len(known)


def quota(root: Path = ROOT) -> float | None:
    """Return how many cores the control groups of this process grant; None if all, or unknown."""
    given = []
    for folder in groups("cpu", root):
        limit, _, period = read(folder / "cpu.max").partition(" ")
        if not limit:
            limit, period = (read(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
        if limit.isdecimal() and period.isdecimal():
            given.append(int(limit) / int(period))
    return min(given, default=None)
