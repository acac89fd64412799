"""Files that a command writes, looked at before anything long begins."""

from pathlib import Path

from attncost.core.errors import StorageError


def check_writable(output: Path, *, option: str = "-o PAGE.html") -> None:
    """Refuse a file that cannot be written; it is left as it was.

    Args:
        output: The file.
        option: Which names another one.

    Raises:
        StorageError: If it cannot be written.
    """
    missing = not output.exists()
    try:
        with output.open("ab"):
            pass
    except OSError as error:
        raise _unwritable(output, error, option) from error
    if missing:
        output.unlink()


def write(output: Path, content: str | bytes, *, option: str = "-o PAGE.html") -> None:
    """Write a file.

    Args:
        output: The file.
        content: A text, or bytes.
        option: Which names another one.

    Raises:
        StorageError: If it cannot be written.
    """
    try:
        output.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise _unwritable(output, error, option) from error


def _unwritable(output: Path, error: OSError, option: str) -> StorageError:
    reason = f"{output} cannot be written ({error.strerror})"
    return StorageError(f"{reason}: choose another with {option}.")
