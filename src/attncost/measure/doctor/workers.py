"""Fresh processes that live on and answer in turn, so that they can be timed interleaved.

They are not those of a sweep (`attncost.measure.sweep.isolated`): what a process inherits at its
start is the question here, such as LD_PRELOAD, and `multiprocessing` hands on no environment but
ours, which would have to be changed for every thread meanwhile.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import wait
from tempfile import TemporaryFile
from typing import IO, ClassVar, Final, final

from attncost.core.errors import UnsupportedOption
from attncost.core.units import show
from attncost.measure.clocks.interface import Clock, Run
from attncost.measure.doctor.patient import Patient

# To end by itself, once nothing more is asked.
_END_SECONDS: Final = 2.0
# An answer may take what is left of the budget, and no less than to import PyTorch on a busy
# machine; without a budget it is not waited for longer than this.
_FEWEST_SECONDS: Final = 20.0
_MOST_SECONDS: Final = 120.0

Answer = dict[str, float]


@final
class Told(Clock):
    """The CPU time that another process says its call took."""

    __slots__ = ()
    name: ClassVar[str] = "CPU time of a process of its own"
    reason: ClassVar[str] = "what a process inherits can only be changed before it starts"
    device: ClassVar[str] = "cpu"

    def elapsed(self, call: Run, repeats: int) -> float:
        """Add up what is told."""
        told = [call() for _ in range(repeats)]
        return sum(one for one in told if isinstance(one, float))


@final
class Worker:
    """A process that answers a line with a line, in a session of its own.

    Args:
        command: What starts it.
        variables: What its environment has beside ours.
        said: Where its standard error goes: a file, for a pipe that nobody reads would stop it.
    """

    __slots__ = ("_process", "_said")

    def __init__(
        self, command: Sequence[str], variables: Mapping[str, str], said: IO[bytes]
    ) -> None:
        self._said = said
        self._process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env={**os.environ, **variables},
            # Ctrl-C is for us, who end it, and with it whatever it has started.
            start_new_session=True,
        )

    def ask(self, seconds: float) -> Answer:
        """Have it make a call.

        Args:
            seconds: For how long to wait for the answer.

        Raises:
            UnsupportedOption: If it has ended instead, or does not answer in time.
        """
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.write(b"\n")
        told = self._line(seconds)
        if not told:
            raise UnsupportedOption(f"a process of its own ended: {self._last_words()}")
        return dict(json.loads(told))

    def release(self) -> None:
        """Let it know that no question follows."""
        assert self._process.stdin
        self._process.stdin.close()

    def end(self) -> None:
        """End it, by force if it does not end itself, and whatever it has started."""
        assert self._process.stdout
        if self._process.stdout.closed:
            return
        self.release()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        # On macOS a group of which none is alive may not be sent anything.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()

    def _line(self, seconds: float) -> bytes:
        """Return what it says up to the end of a line; nothing if it has ended."""
        assert self._process.stdout
        file, told = self._process.stdout.fileno(), b""
        deadline = time.monotonic() + seconds
        while not told.endswith(b"\n"):
            if not wait([file], max(0.0, deadline - time.monotonic())):
                late = show(seconds, "seconds")
                raise UnsupportedOption(f"a process of its own gave no answer within {late}.")
            part = os.read(file, 1 << 16)
            if not part:
                return b""
            told += part
        return told

    def _last_words(self) -> str:
        self.end()
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"status {self._process.returncode}."


@contextmanager
def workers(
    kind: str,
    patient: Patient,
    environments: Mapping[str, Mapping[str, str]],
    *,
    left: Callable[[], float],
) -> Iterator[dict[str, Callable[[], Answer]]]:
    """Start a process for each environment, all at once, and end them all.

    Args:
        kind: What they do, `naive` or `first`.
        patient: Of which sizes.
        environments: What the environment of each has beside ours, by its name.
        left: Returns the seconds that the budget has left.

    Yields:
        What asks each of them for an answer.
    """
    sizes = map(str, (patient.length, patient.heads, patient.head_dim))
    command = [sys.executable, "-m", "attncost.measure.doctor.worker", kind, *sizes]

    def asking(worker: Worker) -> Callable[[], Answer]:
        return lambda: worker.ask(min(_MOST_SECONDS, max(_FEWEST_SECONDS, left())))

    with ExitStack() as stack:
        started = {}
        for name, variables in environments.items():
            started[name] = Worker(command, variables, stack.enter_context(TemporaryFile()))
            stack.callback(started[name].end)
        for worker in started.values():
            stack.callback(worker.release)  # All of them first, for each takes a while to end.
        yield {name: asking(worker) for name, worker in started.items()}
