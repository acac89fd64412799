"""A call in a child of this process, with a time limit: what it patches or breaks ends with it.

The child is a plain fork: what has been imported is there at once, and nothing tells it that it is
a child, which some peers mind. Forks are safe from one thread alone, and before autograd has run
backward in the parent. It needs Linux or macOS.
"""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Final, final

_LONGEST_REASON: Final = 160


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call.

    Attributes:
        value: What it returned.
        crash: Why it returned nothing; None if it did.
    """

    value: Any
    crash: str | None = None


@final
class Child:
    """A process that does something with its end of a pipe, ended with the context.

    Args:
        do: What; if it raises, the pipe ends with an `Outcome` that says so.
    """

    def __init__(self, do: Callable[[Connection], None]) -> None:
        self.pipe, theirs = Pipe()
        self._pid = os.fork()
        if not self._pid:
            self.pipe.close()
            with _Life(theirs):
                do(theirs)
        theirs.close()

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.pipe.close()
        # Its own children, such as those that compile, end with it.
        for end in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                end(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)

    def tell(self, what: object) -> None:
        """Send it something; if it is no more, `hear` says why."""
        with suppress(BrokenPipeError):
            self.pipe.send(what)

    def hear(self, seconds: float) -> Outcome:
        """Return what it sends next, or why it sends nothing in that time."""
        if not self.pipe.poll(seconds):
            return Outcome(None, f"took more than {seconds:g} s.")
        try:
            heard = self.pipe.recv()
        except EOFError:
            return Outcome(None, "the process ended without a word.")
        return heard if isinstance(heard, Outcome) else Outcome(heard)


@final
class _Life:
    """All that a child does: it never returns to what its parent was doing."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def __enter__(self) -> None:
        # Nothing that a peer prints gets into the table, neither from Python nor from C++.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.setpgid(0, 0)

    def __exit__(self, kind: type[BaseException] | None, error: object, _: object) -> None:
        # What cannot even be said ends the same way.
        try:
            if kind is not None:
                first = str(error).strip().partition("\n")[0]
                self._pipe.send(Outcome(None, f"{kind.__name__}: {first}"[:_LONGEST_REASON]))
        finally:
            os._exit(int(kind is not None))


def apart(call: Callable[[], object], *, seconds: float) -> Outcome:
    """Return what a call returns in a child, or why it returns nothing.

    Args:
        call: Returns something that can be pickled.
        seconds: After which it is ended.
    """
    with Child(lambda pipe: pipe.send(call())) as child:
        return child.hear(seconds)
