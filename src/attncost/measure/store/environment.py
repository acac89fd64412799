"""Where a run was measured: what must be the same for two runs to be compared, and what may not.

What a system does not tell is None. No name of the machine is in it, and no folder but those that
the command says. It takes 0.02 s, half of it git's where attncost is run from a checkout.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from attncost.measure.clocks.interface import Clock
from attncost.measure.clocks.usage import counts_waiting
from attncost.measure.store.conditions.build import build, switches
from attncost.measure.store.conditions.gpu import gpu
from attncost.measure.store.conditions.memory import memory
from attncost.measure.store.conditions.processor import processor
from attncost.measure.store.conditions.settings import settings, without_home
from attncost.measure.store.conditions.software import software

_MINUTES: Final = (1, 5, 15)


def environment(clock: Clock, *, command: str, threads: int = 1) -> dict[str, Any]:
    """Return the machine, the versions and the clock.

    Args:
        clock: What times the calls.
        command: What repeats the run.
        threads: Of the CPU that PyTorch may use.
    """
    return {
        "command": without_home(command),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "clock": clock.name,
        "clock_reason": clock.reason,
        "waiting_counted": counts_waiting(),
        "threads": threads,
        "device": "cpu",
        **build(),
        **switches(),
        **software(),
        **processor(),
        **memory(),
        "settings": settings(),
        **_loads(),
        **(gpu() if clock.device == "cuda" else {}),
    }


def _loads() -> Mapping[str, float | None]:
    """Return how many threads ran or were ready to, on average over some minutes."""
    said = os.getloadavg() if hasattr(os, "getloadavg") else (None, None, None)
    names = ("load", *(f"load_{minutes}" for minutes in _MINUTES[1:]))
    return dict(zip(names, said, strict=True))
