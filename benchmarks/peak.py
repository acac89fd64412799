"""Extra memory of one call in a process of its own, as the operating system counts it.

    python -m benchmarks.peak SUBJECT CONTESTANT LENGTH DTYPE [backward]

Prints two numbers in MiB: the most resident memory of the call above what was resident before, its
results included, and what the contestant made and kept before it, its inputs included (a mask above
all). A library's own first-time memory is paid before, by a short call; compiled code pays by a
call of the same size. It needs Linux.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.cells import DTYPES, call
from benchmarks.peers import entrant

from attncost.measure.clocks.threads import threads

_STATUS: Final = Path("/proc/self/status")
_CLEAR: Final = Path("/proc/self/clear_refs")
_SHORT: Final = 128
_BACKWARD: Final = "backward"


def peak(
    subject: str, column: str, length: int, *, dtype: str, backward: bool
) -> tuple[float, ...]:
    """Measure it in a fresh process; return MiB of the call and MiB kept before it.

    Raises:
        RuntimeError: If the process fails.
    """
    command = [sys.executable, "-m", "benchmarks.peak", subject, column, str(length), dtype]
    return printed([*command, *([_BACKWARD] if backward else [])])[-2:]


def printed(command: list[str]) -> tuple[float, ...]:
    """Run a command whose memory goes back to the system once freed; return the numbers it prints.

    Raises:
        RuntimeError: If it fails.
    """
    # What is freed goes back to the system at once, so that it is not there before the call.
    told = os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
    ended = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed: {ended.stderr.strip()[-300:]}")
    return tuple(map(float, ended.stdout.split()))


def available() -> bool:
    """Say whether this system counts what is needed."""
    return _STATUS.is_file() and _CLEAR.is_file()


def main() -> int:
    """Run one call and print what it took."""
    subject, column, length, dtype, *rest = sys.argv[1:]
    backward = rest == [_BACKWARD]
    with threads(1):
        short = int(length) if column == "flex" else _SHORT
        call(entrant(subject, column, short, DTYPES[dtype]), backward=backward)()
        before = resident()
        run = call(entrant(subject, column, int(length), DTYPES[dtype]), backward=backward)
        ready = resident()
        most = most_resident(run)
    print(most - ready, ready - before)
    return 0


def resident() -> float:
    """Return the MiB that are resident now, what was freed given back."""
    ctypes.CDLL(None).malloc_trim(0)
    return _read("VmRSS")


def most_resident(run: Callable[[], object]) -> float:
    """Return the most MiB that are resident during a call, its result included."""
    _CLEAR.write_text("5")  # the high-water mark starts anew
    result = run()
    most = _read("VmHWM")
    del result
    return most


def _read(field: str) -> float:
    line = next(one for one in _STATUS.read_text().splitlines() if one.startswith(field))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    raise SystemExit(main())
