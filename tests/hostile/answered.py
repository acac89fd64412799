"""Whether a request was answered as a mistake: quickly, in one line, with exit status 2."""

import signal
from contextlib import contextmanager

from attncost.cli import main

# A machine that does other work, too, may be many times slower than one that does not.
SECONDS = 30
LONGEST = 1000


@contextmanager
def in_time():
    """End what waits for ever, such as for a pipe that nobody writes into."""

    def late(*_):
        raise AssertionError(f"took longer than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def refusal(words, capsys):
    """Return the line that a request is refused with."""
    capsys.readouterr()
    with in_time():
        status = main(words)
    said = capsys.readouterr()
    assert status == 2, (words, said)
    (line,) = said.err.splitlines()
    assert line.startswith("attncost: ")
    assert len(line) < LONGEST
    assert all(letter.isprintable() for letter in line)
    assert said.out == ""
    return line
