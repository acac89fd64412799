"""Subjects whose calls go wrong, for processes to be made of."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from time import sleep

import torch

from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.subject import Subject


def allocate():
    torch.empty(1 << 28)  # 1 GiB, which nobody touches


def fail():
    raise KeyError("no such key\nsecond line")


def orphan():
    """Leave a process that holds all that this one has open, and die."""
    if os.fork() == 0:
        Path("orphan").write_text(str(os.getpid()))
        sleep(600)
    while not Path("orphan").exists():
        sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


# What the subject called `ill` does at some lengths.
FAULTS = {32: allocate, 64: lambda: sleep(600), 128: fail, 256: os.abort}
ORPHAN = {512: orphan}


@dataclass(frozen=True)
class Faults:
    """Makes subjects, of which the one called `ill` goes wrong: at once, or when a file is there.

    Attributes:
        names: Of the subjects.
        wait_for: The file.
    """

    names: tuple[str, ...]
    wait_for: str | None = None

    def __call__(self):
        return [self.subject(name) for name in self.names]

    def subject(self, name):
        def prepare(case):
            x = torch.ones(case.length)

            def call():
                if name == "ill" and (not self.wait_for or Path(self.wait_for).exists()):
                    (FAULTS | ORPHAN).get(case.length, int)()
                return x * x

            return call

        return Subject(
            name=name,
            labels={},
            prepare=prepare,
            predict=lambda case: Predicted(linear=case.length, core=case.length**2),
        )


def unmakeable():
    """Make no subject at all."""
    raise ValueError("no weights here")
