"""How a command ends."""

from typing import Final, final

MISTAKEN: Final = 2  # the request cannot be understood or done
INTERRUPTED: Final = 130  # Ctrl-C
CLOSED: Final = 141  # nobody reads the output any more


@final
class Interrupted(Exception):  # noqa: N818 -- nothing is wrong
    """Ctrl-C, after which there is something to say: what was kept, and where."""


@final
class Closed(Exception):  # noqa: N818 -- nothing is wrong
    """Nobody reads the output any more, such as `head` that has seen enough."""
