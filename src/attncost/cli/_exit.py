"""What the exit status says."""

from typing import Final

NO: Final = 1  # the answer is no: it does not fit, a gate is broken, a promise is missed
MISTAKEN: Final = 2  # the request cannot be understood or done
INTERRUPTED: Final = 130  # Ctrl-C
