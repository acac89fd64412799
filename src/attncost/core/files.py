"""Files that people name: read only if they are what they seem, and written whole or not at all.

What is read must be a regular file of a plausible size: a pipe would wait for ever, and a device
would fill the memory. What is written goes beside its place and is moved there once it is whole, so
that a full disk, Ctrl-C or a second writer leaves the old file or the new one. A symbolic link is
never written through, and never replaced: what it points at is not what was named. Read-only files
are left alone, too. The limitation: a file that is replaced loses its hard links and its owner, and
a file in a folder that takes no new ones is not written at all.
"""

import os
import secrets
import stat
from contextlib import suppress
from errno import EACCES, EISDIR
from pathlib import Path
from typing import Final

from attncost.core.errors import StorageError

_PATIENT: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0)


def content(file: Path, *, most: int, give: str) -> bytes:
    """Return the bytes of a file.

    Args:
        file: The file; a link to one will do.
        most: Bytes that such a file has at most.
        give: What to do if it cannot be read, as an imperative without a full stop.

    Raises:
        StorageError: If it cannot be read, is no regular file, or is larger.
    """
    try:
        # Opening a pipe would wait for somebody to write into it.
        with os.fdopen(os.open(file, os.O_RDONLY | _PATIENT), "rb") as opened:
            said = os.fstat(opened.fileno())
            reason = "" if stat.S_ISREG(said.st_mode) else f"it is {_kind(said.st_mode)}"
            found = b"" if reason or said.st_size > most else opened.read(most + 1)
    except (OSError, ValueError) as error:  # A name with a zero in it is a ValueError.
        raise _unreadable(file, _reason(error), give) from error
    if max(said.st_size, len(found)) > most:
        reason = f"it has more than {most:,} bytes"
    if reason:
        raise _unreadable(file, reason, give)
    return found


def words(file: Path, *, most: int, give: str) -> str:
    r"""Return the text of a file in UTF-8, with or without a byte order mark; lines end with \n.

    Args:
        file: The file.
        most: Bytes that such a file has at most.
        give: What to do if it cannot be read.

    Raises:
        StorageError: If it cannot be read, or is no such text.
    """
    try:
        found = content(file, most=most, give=give).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StorageError(f"{file} cannot be read as UTF-8 text ({error}): {give}.") from error
    return found.replace("\r\n", "\n").replace("\r", "\n")


def check_place(file: Path, *, give: str) -> None:
    """Refuse a place where no file can be written; nothing there changes.

    Args:
        file: The place.
        give: What to do, as an imperative without a full stop.

    Raises:
        StorageError: If it is one.
    """
    try:
        _permissions(file)
        beside, descriptor = _beside(file)
        os.close(descriptor)
        beside.unlink()
    except (OSError, ValueError) as error:
        raise _unwritable(file, error, give) from error


def put(file: Path, content: bytes, *, give: str) -> None:
    """Put a file in its place once it is whole; one that is there is replaced.

    Args:
        file: The place.
        content: What it shall hold.
        give: What to do if it cannot be written, as an imperative without a full stop.

    Raises:
        StorageError: If it cannot be written; what was there is still there.
    """
    try:
        permissions = _permissions(file)
        beside, descriptor = _beside(file)
        try:
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(content)
            if permissions is not None:
                beside.chmod(permissions)
            beside.replace(file)
        except BaseException:  # Ctrl-C, too, leaves nothing behind.
            with suppress(OSError):
                beside.unlink()
            raise
    except (OSError, ValueError) as error:
        raise _unwritable(file, error, give) from error


def _permissions(file: Path) -> int | None:
    """Return the permissions of a file that may be replaced; None if there is none.

    Raises:
        OSError: If what is there must stay.
    """
    try:
        there = file.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(there):
        raise OSError(EISDIR, os.strerror(EISDIR))
    if not stat.S_ISREG(there):
        raise OSError(0, f"it is {_kind(there)}")
    if not os.access(file, os.W_OK):
        raise OSError(EACCES, os.strerror(EACCES))
    return stat.S_IMODE(there)


def _beside(file: Path) -> tuple[Path, int]:
    """Open a new file in the folder of another one."""
    beside = file.with_name(f".{os.getpid()}-{secrets.token_hex(4)}.part")
    return beside, os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFLNK: "a symbolic link, which is neither followed nor replaced",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")


def _unreadable(file: Path, reason: str, give: str) -> StorageError:
    return StorageError(f"{file} cannot be read ({reason}): {give}.")


def _unwritable(file: Path, error: Exception, give: str) -> StorageError:
    return StorageError(f"{file} cannot be written ({_reason(error)}): {give}.")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
