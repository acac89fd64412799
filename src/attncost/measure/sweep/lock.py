"""One sweep at a time on a machine: two of them would time each other.

A file in the folder for temporary files is locked, whoever the user is: one for the CPU, one for
each GPU. The operating system takes the lock back when the process ends, also by kill -9. Only
those who ask for it are kept apart; other work on the machine is not.
"""

import os
import shlex
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from attncost.core.errors import StorageError

_EVERYBODY: Final = 0o666
_LOCKS: Final = Path("/proc/locks")
_POLL_SECONDS: Final = 0.1
_LONG: Final = 60  # letters of a command


@contextmanager
def machine_lock(
    device: str = "cpu",
    *,
    tell: Callable[[str], None] | None = None,
    folder: Path | None = None,
) -> Iterator[None]:
    """Hold a device, and wait for it first if another sweep does.

    Args:
        device: `cpu` or `cuda`.
        tell: Is told whom it waits for, if it has to.
        folder: Where the file lies; the system's folder for temporary files if None.

    Raises:
        StorageError: If the file cannot be opened.
    """
    path = (folder or Path(tempfile.gettempdir())) / f"attncost-{_place(device)}.lock"
    lock = FileLock(path, mode=_EVERYBODY, timeout=0)
    try:
        try:
            lock.acquire()
        except Timeout:
            if tell:
                tell(f"waiting for {_holder(path)}, which is measuring on this {device} now.")
            lock.acquire(timeout=-1, poll_interval=_POLL_SECONDS)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be locked ({error.strerror or error}): remove it, or set TMPDIR to "
            "another folder."
        ) from error
    try:
        yield
    finally:
        lock.release()


def _place(device: str) -> str:
    """Return a name that all processes have for a device."""
    if device != "cuda":
        return device
    import torch  # noqa: PLC0415 -- who waits for a CPU need not load it

    return f"cuda-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}"


def _holder(path: Path) -> str:
    """Say who holds a lock, where Linux tells."""
    try:
        inode = path.stat().st_ino
        # number: FLOCK ADVISORY WRITE pid major:minor:inode start end
        lines = [line.split() for line in _LOCKS.read_text("ascii").splitlines()]
        pid = next(line[4] for line in lines if line[5].endswith(f":{inode}"))
        words = Path("/proc", pid, "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except (OSError, StopIteration, IndexError):
        return "another process"
    command = " ".join(shlex.join(os.fsdecode(word) for word in words).split())
    short = command if len(command) <= _LONG else f"{command[: _LONG - 1]}…"
    return f"process {pid} ({short})"
