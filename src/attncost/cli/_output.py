"""Files that a command writes, looked at before anything long begins."""

from pathlib import Path

from attncost.core.files import check_place, put


def check_writable(output: Path, *, option: str = "-o PAGE.html") -> None:
    """Refuse a file that cannot be written; it is left as it was.

    Args:
        output: The file.
        option: Which names another one.

    Raises:
        StorageError: If it cannot be written.
    """
    check_place(output, give=f"choose another with {option}")


def write(output: Path, content: str | bytes, *, option: str = "-o PAGE.html") -> None:
    """Write a file, whole or not at all.

    Args:
        output: The file.
        content: A text, or bytes.
        option: Which names another one.

    Raises:
        StorageError: If it cannot be written.
    """
    whole = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    put(output, whole, give=f"choose another with {option}")
