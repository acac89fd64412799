"""Processes that answer, and what becomes of those that do not; small ones, without PyTorch."""

import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from attncost import UnsupportedOption
from attncost.measure.doctor import worker
from attncost.measure.doctor.workers import Worker

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="only POSIX has sessions")

ANSWERS = """
import os, sys
for _ in sys.stdin:
    print('{"seconds": %s}' % os.environ["SECONDS"], flush=True)
"""
FLOODS = f"""
import sys
sys.stderr.write("it is too much\\n" * 20_000)
sys.stderr.flush()
{ANSWERS}
sys.exit("that was all")
"""
HANGS = """
import time
time.sleep(600)
"""
# It goes on with the pipes and says who it is, while its parent ends.
FORKS = """
import os, sys, time
if os.fork():
    os._exit(3)
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
time.sleep(600)
"""


@contextmanager
def started(code, *arguments):
    with TemporaryFile() as said:
        one = Worker([sys.executable, "-c", code, *arguments], {"SECONDS": "2.5"}, said)
        try:
            yield one
        finally:
            one.end()


def test_it_answers_and_has_the_variables_that_it_was_given():
    with started(ANSWERS) as one:
        assert [one.ask(60.0) for _ in range(3)] == [{"seconds": 2.5}] * 3


def test_one_that_floods_its_standard_error_goes_on():
    with started(FLOODS) as one:
        assert one.ask(60.0) == {"seconds": 2.5}


def test_one_that_ends_says_its_last_words_or_its_status():
    with (
        started("import sys; sys.exit('first\\nit is empty')") as one,
        pytest.raises(UnsupportedOption, match=r"ended: it is empty$"),
    ):
        one.ask(60.0)
    with (
        started("import os; os._exit(7)") as one,
        pytest.raises(UnsupportedOption, match=r"ended: status 7\.$"),
    ):
        one.ask(60.0)


def test_one_that_hangs_is_given_up_and_ended():
    with (
        started(HANGS) as one,
        pytest.raises(UnsupportedOption, match=r"gave no answer within 200 ms\.$"),
    ):
        one.ask(0.2)
    with pytest.raises(ProcessLookupError):
        os.kill(one._process.pid, 0)


def lives(number):
    """Say whether a process does anything; one that waits to be collected does not."""
    try:
        os.kill(number, 0)
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state not in "ZX"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which processes live")
def test_what_it_has_started_ends_with_it(tmp_path):
    file = tmp_path / "child"
    with started(FORKS, str(file)) as one:
        while not (file.exists() and file.read_text()):
            time.sleep(0.01)
        child = int(file.read_text())
        assert lives(child)
        # It holds the pipes, so nobody hears that its parent is gone.
        with pytest.raises(UnsupportedOption, match="gave no answer within"):
            one.ask(0.2)
    end = time.monotonic() + 20
    while lives(child) and time.monotonic() < end:
        time.sleep(0.01)
    assert not lives(child)


def test_a_child_that_fails_says_why_and_does_not_go_on_as_a_second_worker(capfd):
    def fails():
        raise RuntimeError("no such layer")

    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        worker._answer(fails, writing)
    os.close(writing)
    with os.fdopen(reading) as answer:
        assert answer.read() == ""
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert "RuntimeError: no such layer" in capfd.readouterr().err
