"""Fresh processes that live on and answer in turn, so that they can be timed interleaved."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar, Final, final

from attncost.core.errors import UnsupportedOption
from attncost.measure.clocks.clock import Clock, Run
from attncost.measure.doctor.patient import Patient

_PATIENCE: Final = 2.0

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
    """A process that answers.

    Args:
        kind: What it does, `naive` or `first`.
        patient: Of which sizes.
        variables: What its environment has beside ours.
    """

    __slots__ = ("_process",)

    def __init__(self, kind: str, patient: Patient, variables: Mapping[str, str]) -> None:
        sizes = map(str, (patient.length, patient.heads, patient.head_dim))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "attncost.measure.doctor.worker", kind, *sizes],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
            # Ctrl-C is for us, who end it.
            start_new_session=True,
        )

    def ask(self) -> Answer:
        """Have it make a call.

        Raises:
            UnsupportedOption: If it has ended instead.
        """
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            told = ""
        else:
            told = self._process.stdout.readline()
        if not told:
            raise UnsupportedOption(f"a process of its own ended: {self._last_words()}")
        return dict(json.loads(told))

    def end(self) -> None:
        """Ask it for nothing more, and end it if it goes on."""
        try:
            self._process.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def _last_words(self) -> str:
        _, said = self._process.communicate()
        lines = said.strip().splitlines()
        return lines[-1] if lines else f"status {self._process.returncode}."


@contextmanager
def workers(
    kind: str, patient: Patient, environments: Mapping[str, Mapping[str, str]]
) -> Iterator[dict[str, Worker]]:
    """Start a process for each environment, all at once, and end them all."""
    started: dict[str, Worker] = {}
    try:
        for name, variables in environments.items():
            started[name] = Worker(kind, patient, variables)
        yield started
    finally:
        for one in started.values():
            one.end()
