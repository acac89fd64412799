import subprocess
import sys

import pytest

from attncost.core.errors import StorageError
from attncost.measure.sweep.lock import machine_lock

# Says when it holds the lock, writes both ends of that time, and holds it for as long as asked.
HOLD = """
import sys
from pathlib import Path
from time import monotonic, sleep

from attncost.measure.sweep.lock import machine_lock

folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
with machine_lock(folder=folder, tell=lambda words: print(words, flush=True)):
    start = monotonic()
    print("held", flush=True)
    sleep(seconds)
    print(start, monotonic(), flush=True)
"""


def holding(folder, seconds):
    command = [sys.executable, "-c", HOLD, str(folder), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_sweeps_do_not_overlap(tmp_path):
    with holding(tmp_path, 1) as first:
        assert first.stdout.readline() == "held\n"
        with holding(tmp_path, 0.1) as second:
            start, end = map(float, first.stdout.readline().split())
            # It may begin later than the first one lets go.
            said = [second.stdout.readline()]
            if said != ["held\n"]:
                assert said[0].startswith(f"waiting for process {first.pid} (")
                assert second.stdout.readline() == "held\n"
            later, _ = map(float, second.stdout.readline().split())
    assert start < end <= later


def test_kill_9_gives_the_lock_back_and_until_then_it_is_waited_for(tmp_path):
    with holding(tmp_path, 600) as holder:
        assert holder.stdout.readline() == "held\n"
        told = []

        def tell(words):
            told.append(words)
            holder.kill()

        try:
            with machine_lock(folder=tmp_path, tell=tell):
                assert holder.wait() == -9
        finally:
            holder.kill()
    (words,) = told
    assert f"process {holder.pid} (" in words
    assert "measuring on this cpu now" in words


def test_it_can_be_taken_again_after_an_error(tmp_path):
    with pytest.raises(RuntimeError), machine_lock(folder=tmp_path):
        raise RuntimeError
    told = []
    with machine_lock(folder=tmp_path, tell=told.append):
        pass
    assert told == []


def test_the_file_is_for_every_user(tmp_path):
    with machine_lock(folder=tmp_path):
        pass
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o666 == 0o666


def test_a_folder_that_is_none_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("mine")
    with (
        pytest.raises(StorageError, match=r"cannot be locked .* set TMPDIR to another folder"),
        machine_lock(folder=tmp_path / "file" / "there"),
    ):
        pass
