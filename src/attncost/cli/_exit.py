"""How a command ends."""

from typing import Final, final

MISTAKEN: Final = 2  # the request cannot be understood or done
INTERRUPTED: Final = 130  # Ctrl-C


@final
class Interrupted(Exception):  # noqa: N818 -- nothing is wrong
    """Ctrl-C, after which there is something to say: what was kept, and where."""
