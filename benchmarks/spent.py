"""CPU time and memory of a command and of its children, as the operating system counts them.

    python -m benchmarks.spent COMMAND...

Prints the seconds and the bytes that were resident at most. It is a process of its own because
Linux lets no command take less than whoever starts it held, so this one imports next to nothing.
"""

import os
import subprocess
import sys
from typing import Final, NamedTuple

# The system counts in KiB, on macOS in bytes.
_UNIT: Final = 1 if sys.platform == "darwin" else 1024


class Spent(NamedTuple):
    """What a command took.

    Attributes:
        seconds: CPU time, of all its threads and of the system for it.
        bytes: Resident at most.
    """

    seconds: float
    bytes: int


def spent(*command: str) -> Spent:
    """Run a command; return what it took.

    Raises:
        RuntimeError: If it fails.
    """
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.spent", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {ended.stderr.strip()[-300:]}")
    seconds, most = ended.stdout.split()
    return Spent(float(seconds), int(most))


def main() -> int:
    """Run a command that prints nowhere, and print what it took."""
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _UNIT)
    return int(child.returncode != 0)


if __name__ == "__main__":
    raise SystemExit(main())
